"""The messages of TensorFlow's graph files, as far as they are read."""

from __future__ import annotations

from ..protobuf import Schema

TENSORFLOW = Schema(
    "TensorFlow",
    "tensorflow",
    """
Dim 1:size:int64
Shape 2:dim:bytes*
Tensor 1:dtype:int32 2:tensor_shape:Shape 4:tensor_content:bytes 5:float_val:float*
    6:double_val:double* 7:int_val:int32* 10:int64_val:int64* 11:bool_val:bool* 13:half_val:int32*
    8:string_val:bytes* 16:uint32_val:uint32* 17:uint64_val:uint64*
List 3:i:int64*
Function 1:name:bytes
Value 1:list:List 2:s:bytes 3:i:int64 4:f:float 5:b:bool 6:type:int32 7:shape:Shape 8:tensor:Tensor
    10:func:Function
Attribute 1:key:bytes 2:value:bytes
Node 1:name:bytes 2:op:bytes 3:input:bytes* 5:attr:bytes*
Argument 1:name:bytes
Signature 1:name:bytes 2:input_arg:bytes* 3:output_arg:bytes*
Entry 1:key:bytes 2:value:bytes
Definition 1:signature:Signature 3:node_def:bytes* 4:ret:bytes*
Library 1:function:bytes*
Graph 1:node:bytes* 2:library:Library
Tags 4:tags:bytes*
Saver 3:restore_op_name:bytes
Ends 1:inputs:bytes* 2:outputs:bytes*
End 1:name:bytes 2:dtype:int32 3:tensor_shape:Shape
MetaGraph 1:meta_info_def:Tags 2:graph_def:bytes 3:saver_def:Saver 5:signature_def:bytes*
SavedModel 1:saved_model_schema_version:int64 2:meta_graphs:bytes*
Objects 1:nodes:bytes*
Object 2:attributes:bytes*
Stored 2:full_name:bytes 3:checkpoint_key:bytes
BundleHeader 1:num_shards:int32 2:endianness:int32
BundleEntry 1:dtype:int32 2:shape:Shape 3:shard_id:int32 4:offset:int64 5:size:int64
    6:crc32c:fixed32 7:slices:bytes*
""",
)
new, parse = TENSORFLOW.new, TENSORFLOW.parse
