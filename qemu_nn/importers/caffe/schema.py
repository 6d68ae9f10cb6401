"""The messages of Caffe's files, as far as they are read."""

from __future__ import annotations

from ..protobuf import Schema

#: Saved weights have messages of their own, nested as bytes.
CAFFE = Schema(
    "Caffe",
    "caffe",
    """
BlobShape 1:dim:int64*
BlobProto 1:num:int32 2:channels:int32 3:height:int32 4:width:int32 5:data:float* 7:shape:BlobShape
    8:double_data:double*
NetStateRule 1:phase:TRAIN|TEST 2:min_level:int32 3:max_level:int32 4:stage:string*
TransformationParameter 3:crop_size:uint32

ArgMaxParameter 1:out_max_val:bool 2:top_k:uint32=1 3:axis:int32
BatchNormParameter 1:use_global_stats:bool=true 3:eps:float=1e-5
BiasParameter 1:axis:int32=1 2:num_axes:int32=1
ConcatParameter 1:concat_dim:uint32=1 2:axis:int32=1
ConvolutionParameter 1:num_output:uint32 2:bias_term:bool=true 3:pad:uint32* 4:kernel_size:uint32*
    5:group:uint32=1 6:stride:uint32* 9:pad_h:uint32 10:pad_w:uint32 11:kernel_h:uint32
    12:kernel_w:uint32 13:stride_h:uint32 14:stride_w:uint32 16:axis:int32=1 18:dilation:uint32*
ELUParameter 1:alpha:float=1
EltwiseParameter 1:operation:PROD|SUM|MAX=SUM 2:coeff:float*
ExpParameter 1:base:float=-1 2:scale:float=1 3:shift:float
FlattenParameter 1:axis:int32=1 2:end_axis:int32=-1
InnerProductParameter 1:num_output:uint32 2:bias_term:bool=true 5:axis:int32=1 6:transpose:bool
InputParameter 1:shape:BlobShape*
LogParameter 1:base:float=-1 2:scale:float=1 3:shift:float
MVNParameter 1:normalize_variance:bool=true 2:across_channels:bool 3:eps:float=1e-9
PReLUParameter 2:channel_shared:bool
PoolingParameter 1:pool:MAX|AVE|STOCHASTIC 2:kernel_size:uint32* 3:stride:uint32* 4:pad:uint32*
    5:kernel_h:uint32 6:kernel_w:uint32 7:stride_h:uint32 8:stride_w:uint32 9:pad_h:uint32
    10:pad_w:uint32 12:global_pooling:bool 13:round_mode:CEIL|FLOOR
PowerParameter 1:power:float=1 2:scale:float=1 3:shift:float
ReLUParameter 1:negative_slope:float
ReductionParameter 1:operation:NONE|SUM|ASUM|SUMSQ|MEAN=SUM 2:axis:int32 3:coeff:float=1
ReshapeParameter 1:shape:BlobShape 2:axis:int32 3:num_axes:int32=-1
ScaleParameter 1:axis:int32=1 2:num_axes:int32=1 4:bias_term:bool
SliceParameter 1:slice_dim:uint32=1 2:slice_point:uint32* 3:axis:int32=1
SoftmaxParameter 2:axis:int32=1
TileParameter 1:axis:int32=1 2:tiles:int32

LayerParameter 1:name:string 2:type:string 3:bottom:string* 4:top:string* 8:include:NetStateRule*
    9:exclude:NetStateRule* 100:transform_param:TransformationParameter
    103:argmax_param:ArgMaxParameter 111:exp_param:ExpParameter 120:mvn_param:MVNParameter
    134:log_param:LogParameter 136:reduction_param:ReductionParameter 138:tile_param:TileParameter
    140:elu_param:ELUParameter 104:concat_param:ConcatParameter
    106:convolution_param:ConvolutionParameter
    110:eltwise_param:EltwiseParameter 117:inner_product_param:InnerProductParameter
    121:pooling_param:PoolingParameter 122:power_param:PowerParameter 123:relu_param:ReLUParameter
    125:softmax_param:SoftmaxParameter 126:slice_param:SliceParameter 131:prelu_param:PReLUParameter
    133:reshape_param:ReshapeParameter 135:flatten_param:FlattenParameter
    139:batch_norm_param:BatchNormParameter 141:bias_param:BiasParameter
    142:scale_param:ScaleParameter 143:input_param:InputParameter

V0LayerParameter 1:name:string
V1LayerParameter 1:layer:V0LayerParameter 2:bottom:string* 3:top:string* 4:name:string
    5:type:NONE|ACCURACY|BNLL|CONCAT|CONVOLUTION|DATA|DROPOUT|EUCLIDEAN_LOSS|FLATTEN|HDF5_DATA|
    HDF5_OUTPUT|IM2COL|IMAGE_DATA|INFOGAIN_LOSS|INNER_PRODUCT|LRN|MULTINOMIAL_LOGISTIC_LOSS|
    POOLING|RELU|SIGMOID|SOFTMAX|SOFTMAX_LOSS|SPLIT|TANH|WINDOW_DATA|ELTWISE|POWER|
    SIGMOID_CROSS_ENTROPY_LOSS|HINGE_LOSS|MEMORY_DATA|ARGMAX|THRESHOLD|DUMMY_DATA|SLICE|MVN|ABSVAL|
    SILENCE|CONTRASTIVE_LOSS|EXP|DECONVOLUTION
    9:concat_param:ConcatParameter 10:convolution_param:ConvolutionParameter
    17:inner_product_param:InnerProductParameter 19:pooling_param:PoolingParameter
    21:power_param:PowerParameter 24:eltwise_param:EltwiseParameter 30:relu_param:ReLUParameter
    31:slice_param:SliceParameter 32:include:NetStateRule* 33:exclude:NetStateRule*
    36:transform_param:TransformationParameter 39:softmax_param:SoftmaxParameter

NetParameter 1:name:string 2:layers:V1LayerParameter* 3:input:string* 4:input_dim:int32*
    8:input_shape:BlobShape* 100:layer:LayerParameter*

SavedLayer 1:name:string 7:blobs:bytes*
SavedV1Layer 4:name:string 6:blobs:bytes*
SavedNet 2:layers:bytes* 100:layer:bytes*
""",
)
new, parse = CAFFE.new, CAFFE.parse
