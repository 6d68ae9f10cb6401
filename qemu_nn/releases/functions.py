"""States that have a function: the first and the last one, by Arm's headers."""

from __future__ import annotations

from .table import place_of

#: First state -> the functions that it brings.
_FIRST = {
    "ce46c7c2": "arm_convolve_HWC_q15_fast_nonsquare",
    "42606930": "arm_convolve_HWC_q7_basic_nonsquare arm_nn_mult_q7 arm_nn_mult_q15",
    "04c0b9a8": "arm_softmax_with_batch_q7 arm_nn_add_q7 arm_nn_accumulate_q7_to_q15 "
    "arm_q7_to_q15_with_offset arm_q7_to_q15_reordered_with_offset",
    "d76d5e3a": "arm_avgpool_s8 arm_max_pool_s8 arm_convolve_s8 arm_convolve_1x1_s8_fast "
    "arm_depthwise_conv_s8 arm_depthwise_conv_s8_opt arm_fully_connected_s8 "
    "arm_elementwise_add_s8 arm_elementwise_mul_s8 arm_relu6_s8 arm_softmax_s8 arm_softmax_u8 "
    "arm_reshape_s8 arm_concatenation_s8_x arm_concatenation_s8_y arm_concatenation_s8_z "
    "arm_concatenation_s8_w arm_nn_requantize arm_nn_divide_by_power_of_two "
    "arm_nn_mult_by_power_of_two arm_nn_exp_on_negative_values "
    "arm_nn_one_over_one_plus_x_for_x_in_0_1",
    "b214a23d": "arm_convolve_1_x_n_s8 arm_depthwise_conv_3x3_s8",
    "f7e96efd": "arm_convolve_wrapper_s8",
    "01f5b32b": "arm_depthwise_conv_wrapper_s8 arm_svdf_state_s16_s8 arm_nn_doubling_high_mult "
    "arm_nn_doubling_high_mult_no_sat",
    "c43379be": "arm_convolve_wrapper_s16 arm_convolve_s16 arm_fully_connected_s16 "
    "arm_nn_requantize_s64",
    "9dc018e6": "arm_max_pool_s16 arm_avgpool_s16 arm_depthwise_conv_s16 "
    "arm_elementwise_add_s16 arm_elementwise_mul_s16 arm_softmax_s8_s16 arm_softmax_s16",
    "184ccfd0": "arm_svdf_s8",
    "51263182": "arm_depthwise_conv_wrapper_s16 arm_depthwise_conv_fast_s16",
    "4.0.0": "arm_convolve_1x1_s8 arm_elementwise_mul_s16_s8 arm_nn_activation_s16",
    "ca476254": "arm_transpose_conv_s8 arm_fully_connected_s4",
    "5.0.0": "arm_convolve_wrapper_s4 arm_convolve_s4 arm_convolve_1x1_s4 "
    "arm_convolve_1x1_s4_fast arm_depthwise_conv_wrapper_s4 arm_depthwise_conv_s4 "
    "arm_depthwise_conv_s4_opt",
    "2a999a2f": "arm_lstm_unidirectional_s8 arm_elementwise_mul_acc_s16",
    "8492d82a": "arm_lstm_unidirectional_s16",
    "15dbe7cd": "arm_convolve_1_x_n_s4",
    "95f293df": "arm_convolve_even_s4 arm_fully_connected_per_channel_s8 "
    "arm_fully_connected_wrapper_s8 arm_batch_matmul_s8 arm_batch_matmul_s16",
    "7.0.0": "arm_transpose_conv_wrapper_s8 arm_minimum_s8 arm_maximum_s8 arm_pad_s8 "
    "arm_transpose_s8",
}

#: Function -> its first state; functions that are not here are in all states of their API.
FIRST = {name: state for state, names in _FIRST.items() for name in names.split()}

#: Function -> the state that renamed it, and its C name before: arm_svdf_s8 had 16-bit states.
_RENAMED = {"arm_svdf_state_s16_s8": ("184ccfd0", "arm_svdf_s8")}


#: Wrappers -> the function for any shape, which frameworks called before there was a wrapper.
_UNWRAPPED = {
    f"arm_{kind}_wrapper_{type}": f"arm_{kind}_{type}"
    for kind, types in (("convolve", ["s8"]), ("depthwise_conv", ["s8", "s16"]))
    for type in types
}
_UNWRAPPED["arm_transpose_conv_wrapper_s8"] = "arm_transpose_conv_s8"

#: Functions that move or select elements: kernels of frameworks have the same bits without them.
_EXACT = ("arm_pad_s8", "arm_transpose_s8", "arm_minimum_s8", "arm_maximum_s8")


def name_in_network(name: str, state: str) -> str:
    """Return the function that frameworks called in a state for this one: itself, or the function
    for any shape if the state has no wrapper.
    """
    general = _UNWRAPPED.get(name, name)
    return general if not has_function(name, state) and has_function(general, state) else name


def is_brought(name: str, state: str) -> bool:
    """True if a network's framework computes a function itself, as a state does not have it."""
    return name in _EXACT and not has_function(name, state)


def has_function(name: str, state: str, in_network: bool = False) -> bool:
    """True if a state has a function.

    in_network: the call is that of a network, whose framework chose among the functions itself
    before there was a wrapper, and has kernels of its own that move or select elements.
    """
    if in_network:
        name = _UNWRAPPED.get(name, name)
    if in_network and name in _EXACT:
        return True
    return name not in FIRST or place_of(FIRST[name]) <= place_of(state)


def c_name(name: str, state: str) -> str:
    """Return the name of a function in the headers of a state."""
    renamed, older = _RENAMED.get(name, (state, name))
    return older if place_of(state) < place_of(renamed) else name
