import type { Step } from './steps.js';

const all = { ofLimit: 100, plusCents: 0 };
const unsplit = { parts: [], overByCents: 0 };

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
      { do: 'wait', minutes: 5 * 24 * 60 },
      { do: 'wait', minutes: 1 },
      { do: 'refund', order: 0, amount: { ofLimit: 50, plusCents: 0 }, name: null, again: true },
    ],
  ],
  [
    // A credit that came back expires again while another order holds it: the hold can be moved and lowered, and what is
    // released does not come back a second time.
    [
      { do: 'grant', merchant: 1, customer: 0, cents: 2000, inDays: 0, forDays: 1 },
      { do: 'create', merchant: 1, customer: 0, cents: 2000, eligiblePercent: null, split: unsplit, again: false },
      { do: 'hold', order: 0, amount: all, minutes: null, again: false },
      { do: 'wait', minutes: 6 * 24 * 60 },
      { do: 'create', merchant: 1, customer: 0, cents: 2000, eligiblePercent: null, split: unsplit, again: false },
      { do: 'hold', order: 0, amount: all, minutes: 10_080, again: true },
      { do: 'wait', minutes: 4 * 24 * 60 },
      { do: 'hold', order: 0, amount: all, minutes: 10_080, again: true },
      { do: 'wait', minutes: 4 * 24 * 60 },
      { do: 'hold', order: 0, amount: { ofLimit: 50, plusCents: 0 }, minutes: null, again: true },
      { do: 'wait', minutes: 1 },
      { do: 'complete', order: 0, redeem: { ofLimit: 33, plusCents: 0 }, split: null, again: true },
      { do: 'refund', order: 0, amount: { ofLimit: 50, plusCents: 0 }, name: null, again: true },
      { do: 'refund', order: 0, amount: all, name: null, again: true },
    ],
  ],
];
