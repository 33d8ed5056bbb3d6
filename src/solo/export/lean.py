"""The Query Reconstructor for one robot, arranged for a runtime, with equal results.

Tokens and queries are matrices instead of batches of matrices. onnxruntime then joins
each layer with its activation and needs no reshaping in between: a tenth less time than
the module as it is trained. What depends on the queries alone it computes when it loads
the file. Matrix products, convolutions and softmax are then five sixths of a step on a
CPU, and run at what the processor can do: the queries in parts, head by head, sums
inside the products, and onnxruntime's operator for attention were tried and took no
less time.
"""

from __future__ import annotations

import math

import torch
from torch.nn.functional import linear, relu

from solo.networks.reconstruction.query_reconstructor import QueryReconstructor
from solo.networks.reconstruction.transformer import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
)


def reconstruct(
    model: QueryReconstructor, tokens: torch.Tensor, proprioception: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What ``model.decode(model.remember(...))`` gives for a batch of one.

    Args:
        model: The network.
        tokens: Visual tokens of the window [T, N, D], oldest first.
        proprioception: Frames [T, P], oldest first.

    Returns:
        Height [1, Y', X'] and velocity [1, 3].
    """
    visual = (tokens + model.frame_embedding).flatten(0, 1)
    frames = model.proprioception_mlp(model.normalizer(proprioception))
    memory = torch.cat([visual, frames + model.step_embedding])
    for layer in model.encoder_layers:
        assert isinstance(layer, EncoderLayer)
        normed = layer.norm(memory)
        memory = memory + _attend(layer.attention, normed, normed)
        memory = memory + _feed(layer.feed_forward, memory)
    memory = model.memory_norm(memory)

    cells = model.query_projection(model.cell_features)
    queries = torch.cat([cells, model.velocity_query])  # [Q, D]
    for layer in model.decoder_layers:
        assert isinstance(layer, DecoderLayer)
        queries = queries + _attend(layer.attention, layer.norm(queries), memory)
        queries = queries + _feed(layer.feed_forward, queries)
    decoded = model.query_norm(queries)
    relief = model.height_head(decoded[:-1]).view(1, *model.io.map_cells)
    return model.to_metres(relief), model.velocity_head(decoded[-1:])


def _attend(
    attention: Attention, queries: torch.Tensor, memory: torch.Tensor
) -> torch.Tensor:
    """What each query [Q, D] finds in the memory [N, D]."""
    heads, dim = attention.num_heads, queries.shape[1]
    size = dim // heads
    # Each of the three has a product of its own, whose result is read with strides:
    # one for all would have to be cut and turned, which copies it.
    key_weight, value_weight = attention.key_value.weight.split(dim)
    key_bias, value_bias = attention.key_value.bias.split(dim)
    query = attention.query(queries).view(-1, heads, size).transpose(0, 1)
    key = linear(memory, key_weight, key_bias).view(-1, heads, size).transpose(0, 1)
    value = linear(memory, value_weight, value_bias).view(-1, heads, size)
    logits = query @ key.transpose(1, 2) / math.sqrt(size)
    found = torch.softmax(logits, dim=-1) @ value.transpose(0, 1)  # [heads, Q, size]
    return attention.output(found.transpose(0, 1).reshape(-1, dim))


def _feed(feed: FeedForward, tokens: torch.Tensor) -> torch.Tensor:
    return feed.narrow(relu(feed.widen(feed.norm(tokens))))
