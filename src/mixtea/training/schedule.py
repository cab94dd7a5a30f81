"""Schedules by epoch, counted from 1: the teacher's momentum, lambda and the learning rate."""

from __future__ import annotations

import math

import torch
from torch import nn

from mixtea.config import Config


@torch.no_grad()
def update_teacher(teacher: nn.Module, student: nn.Module, momentum: float) -> None:
    """Update theta_tea <- m theta_tea + (1 - m) theta_stu (Eq. 7)."""
    for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
        old.lerp_(new, 1 - momentum)


def teacher_momentum(epoch: int, config: Config) -> float:
    """Return m, or min(1 - 1/epoch, m) with warm-up: a copy of the student after epoch 1."""
    return min(1 - 1 / epoch, config.momentum) if config.momentum_warmup else config.momentum


def ramp_up(epoch: int, config: Config) -> float:
    """Compute lambda of Eq. 15: pseudo_weight * exp(-5 (1 - e/ramp)^2), pseudo_weight from epoch ramp on."""
    missing = max(0.0, 1 - epoch / config.ramp_up_epochs) if config.ramp_up_epochs else 0.0
    return config.pseudo_weight * math.exp(-5 * missing**2)


def learning_rate(epoch: int, config: Config) -> float:
    """Return the rate of an epoch: halved every lr_halve_every epochs, or on a cosine that is 0 after max_epochs."""
    if config.lr_decay == "cosine":
        return config.learning_rate * (1 + math.cos(math.pi * (epoch - 1) / config.max_epochs)) / 2
    halvings = (epoch - 1) // config.lr_halve_every if config.lr_halve_every else 0
    return config.learning_rate * 0.5**halvings
