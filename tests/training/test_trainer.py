"""Eq. 7 and 15, and what follows the epoch."""

from __future__ import annotations

import math

import oracle
import torch
from torch import nn

from mixtea.config import Config
from mixtea.training.trainer import learning_rate, ramp_up, teacher_momentum, update_teacher


def test_the_teacher_is_a_moving_average():
    teacher, student = (nn.Linear(3, 2).double() for _ in range(2))
    expected = [
        oracle.teacher_update(t, s, 0.9) for t, s in zip(*(m.parameters() for m in (teacher, student)), strict=True)
    ]
    update_teacher(teacher, student, 0.9)
    for found, wanted in zip(teacher.parameters(), expected, strict=True):
        torch.testing.assert_close(found.data, wanted.data, rtol=1e-9, atol=1e-12)


def test_the_first_epoch_copies_the_student():
    teacher, student = nn.Linear(3, 2), nn.Linear(3, 2)
    update_teacher(teacher, student, teacher_momentum(1, Config()))
    assert torch.equal(teacher.weight, student.weight)


def test_momentum_warms_up_or_is_constant():
    assert [teacher_momentum(e, Config()) for e in (1, 2, 5, 100)] == [0, 0.5, 0.8, 0.9]
    assert teacher_momentum(1, Config(momentum_warmup=False)) == 0.9


def test_lambda_ramps_up_as_in_the_oracle():
    for epoch in (1, 10, 20, 50):
        total = oracle.objective(torch.tensor(2.0), torch.tensor(3.0), epoch, 20)
        assert math.isclose(2 + ramp_up(epoch, Config()) * 3, total.item(), rel_tol=1e-6)
    assert ramp_up(1, Config(ramp_up_epochs=0)) == 1
    assert ramp_up(30, Config(pseudo_weight=0.0)) == 0


def test_the_learning_rate_halves():
    rates = [learning_rate(e, Config()) for e in (1, 10, 11, 21)]
    assert rates == [0.005, 0.005, 0.0025, 0.00125]
    assert learning_rate(99, Config(lr_halve_every=0)) == 0.005
