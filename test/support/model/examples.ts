import type { Step } from './steps.js';

const all = { ofLimit: 100, plusCents: 0 };
const unsplit = { parts: [], overByCents: 0 };
const amendment = { eligiblePercent: null, split: null, lower: false, version: null, again: true };

/** Sequences that random generation seldom finds. They run before the random ones. */
export const examples: [Step[]][] = [
  [
    // A credit that was released after it expired has the latest expiry, although it is not written down yet:
    // a refund must restore to it first.
    [
      { do: 'grant', merchant: 1, customer: 0, cents: 1000, inDays: 0, forDays: 1 },
      { do: 'grant', merchant: 1, customer: 0, cents: 1000, inDays: 0, forDays: 5 },
      { do: 'create', merchant: 1, customer: 0, cents: 600, eligiblePercent: null, split: unsplit, again: false },
      { do: 'hold', order: 0, amount: { ofLimit: 50, plusCents: 0 }, minutes: null, again: false },
      { do: 'create', merchant: 1, customer: 0, cents: 1200, eligiblePercent: null, split: unsplit, again: false },
      { do: 'complete', order: 0, redeem: all, split: null, again: false },
      { do: 'wait', minutes: 5 * 24 * 60, sweep: true },
      { do: 'wait', minutes: 1, sweep: true },
      { do: 'refund', order: 0, amount: { ofLimit: 50, plusCents: 0 }, eligible: null, name: null, again: true },
    ],
  ],
  [
    // A reinstated credit expires again while another order holds it: the hold can be moved and lowered, and what is
    // released is not reinstated a second time.
    [
      { do: 'grant', merchant: 1, customer: 0, cents: 2000, inDays: 0, forDays: 1 },
      { do: 'create', merchant: 1, customer: 0, cents: 2000, eligiblePercent: null, split: unsplit, again: false },
      { do: 'hold', order: 0, amount: all, minutes: null, again: false },
      { do: 'wait', minutes: 6 * 24 * 60, sweep: true },
      { do: 'create', merchant: 1, customer: 0, cents: 2000, eligiblePercent: null, split: unsplit, again: false },
      { do: 'hold', order: 0, amount: all, minutes: 10_080, again: true },
      { do: 'wait', minutes: 4 * 24 * 60, sweep: true },
      { do: 'hold', order: 0, amount: all, minutes: 10_080, again: true },
      { do: 'wait', minutes: 4 * 24 * 60, sweep: true },
      { do: 'hold', order: 0, amount: { ofLimit: 50, plusCents: 0 }, minutes: null, again: true },
      { do: 'wait', minutes: 1, sweep: true },
      { do: 'complete', order: 0, redeem: { ofLimit: 33, plusCents: 0 }, split: null, again: true },
      { do: 'refund', order: 0, amount: { ofLimit: 50, plusCents: 0 }, eligible: null, name: null, again: true },
      { do: 'refund', order: 0, amount: all, eligible: null, name: null, again: true },
    ],
  ],
  [
    // Amendments of an order with a hold: one refused, one with a version, one that keeps the hold, some that lower it.
    [
      { do: 'grant', merchant: 0, customer: 0, cents: 8000, inDays: 0, forDays: null },
      { do: 'create', merchant: 0, customer: 0, cents: 15_000, eligiblePercent: null, split: unsplit, again: false },
      { do: 'hold', order: 0, amount: all, minutes: null, again: false },
      { do: 'amend', order: 0, amount: { ofLimit: 100, plusCents: -1 }, ...amendment },
      { do: 'amend', order: 0, amount: { cents: 20_000 }, ...amendment, version: 0 },
      { do: 'amend', order: 0, amount: all, ...amendment },
      { do: 'amend', order: 0, amount: { ofLimit: 50, plusCents: 0 }, ...amendment, lower: true },
      { do: 'amend', order: 0, amount: all, ...amendment, eligiblePercent: 80, lower: true },
      { do: 'create again', order: 0, differ: [], first: true },
      { do: 'create again', order: 0, differ: [], first: false },
      { do: 'complete', order: 0, redeem: null, split: null, again: false },
      { do: 'refund', order: 0, amount: { ofLimit: 50, plusCents: 0 }, eligible: null, name: null, again: false },
    ],
  ],
];
