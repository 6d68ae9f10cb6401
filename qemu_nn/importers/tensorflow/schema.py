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
    16:uint32_val:uint32* 17:uint64_val:uint64*
List 3:i:int64*
Value 1:list:List 2:s:bytes 3:i:int64 4:f:float 5:b:bool 6:type:int32 7:shape:Shape 8:tensor:Tensor
Attribute 1:key:bytes 2:value:bytes
Node 1:name:bytes 2:op:bytes 3:input:bytes* 5:attr:bytes*
Graph 1:node:bytes*
SavedModel 1:saved_model_schema_version:int64 2:meta_graphs:bytes*
""",
)
new, parse = TENSORFLOW.new, TENSORFLOW.parse
