"""Transformer layers for a sensor memory and for queries that read it.

Differences from ``torch.nn.Transformer``: normalisation comes before each sublayer, so
training needs no warm-up; a decoder layer has cross-attention only, because the paper's
queries look at the memory and not at each other; there is no dropout. The batch may be
left out: a policy for one robot is then made of matrices, see `solo.export.graph`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

attend: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
attend = scaled_dot_product_attention
"""Trainings on a CPU put another one here, see `attention_kernel`."""


class Attention(nn.Module):
    """Multi-head attention of queries over a memory, with the fused kernel."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        if num_heads < 1 or dim % num_heads != 0:
            raise ValueError(
                f"Attention has {dim} features and {num_heads} heads; the features "
                "must be a multiple of the heads. Change dim or num_heads."
            )
        self.num_heads = num_heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.output = nn.Linear(dim, dim)
        # As torch.nn.MultiheadAttention, which has the three in one matrix.
        bound = math.sqrt(6.0 / (dim + 3 * dim))
        for projection in (self.query, self.key_value):
            nn.init.uniform_(projection.weight, -bound, bound)
        for projection in (self.query, self.key_value, self.output):
            nn.init.zeros_(projection.bias)

    def forward(self, queries: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """What each query [B, Q, D] found among the tokens [B, N, D] of the memory.

        Queries that are the same for all may be [Q, D].
        """
        query, key, value = self._split(queries, memory)
        found = attend(query, key, value)  # [B, heads, Q, d]
        return self.output(found.transpose(-3, -2).flatten(-2))

    def weights(self, queries: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """How much each query looks at each token, mean over the heads [B, Q, N]."""
        query, key, _ = self._split(queries, memory)
        logits = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(logits, dim=-1).mean(dim=-3)

    def _split(
        self, queries: torch.Tensor, memory: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Queries, keys and values as [B, heads, tokens, head_dim]."""
        heads = (self.num_heads, -1)
        query = self.query(queries).unflatten(-1, heads).transpose(-3, -2)
        query = query.expand(*memory.shape[:-2], -1, -1, -1)
        key, value = self.key_value(memory).chunk(2, dim=-1)
        key = key.unflatten(-1, heads).transpose(-3, -2)
        return query, key, value.unflatten(-1, heads).transpose(-3, -2)


class AttentionLayer(nn.Module):
    """Attention to a memory and a feed-forward network, each beside a shortcut.

    Without a memory the tokens look at each other: self-attention of an encoder. With
    one they are queries that read it: cross-attention of a decoder.
    """

    def __init__(self, dim: int, num_heads: int, ff_dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, num_heads)
        self.feed_forward = FeedForward(dim, ff_dim)

    def forward(
        self, tokens: torch.Tensor, memory: torch.Tensor | None = None
    ) -> torch.Tensor:
        """New tokens [B, N, D]; with a memory they may be [N, D]."""
        normed = self.norm(tokens)
        tokens = tokens + self.attention(normed, normed if memory is None else memory)
        return tokens + self.feed_forward(tokens)

    def weights(self, queries: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """Where queries look, mean over the heads [B, Q, N]."""
        return self.attention.weights(self.norm(queries), memory)


class FeedForward(nn.Module):
    """Normalisation and two layers, the same for every token."""

    def __init__(self, dim: int, ff_dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.widen = nn.Linear(dim, ff_dim)
        self.narrow = nn.Linear(ff_dim, dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Change of the tokens [B, N, D]."""
        return self.narrow(torch.relu_(self.widen(self.norm(tokens))))
