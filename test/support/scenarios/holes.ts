interface Hole {
  what: RegExp;
  reason: string;
}

const ORDER_EVENTS: [type: string, operations: string][] = [
  ['created', 'create'],
  ['amended', 'amend'],
  ['redemption_held', 'hold|renew'],
  ['redemption_released', 'hold'],
  ['renewed', 'renew'],
  ['expired', 'a date'],
  ['completed', 'complete'],
  ['cancelled', 'cancel'],
  ['refunded', 'refund'],
  ['customer_changed', 'change_customer'],
];

const ownEvent = ([type, operations]: (typeof ORDER_EVENTS)[number]): Hole => ({
  what: new RegExp(`^order\\.${type} by (?!(${operations}|a repeated request)$)`),
  reason: 'each operation has its event, and only time lets an order expire',
});

/** What no scenario visits, with the reason. Nothing that is visited may be among it. */
export const ACCEPTED: Hole[] = [
  {
    what: / by a repeated request$/,
    reason: 'a repeated request is no event',
  },
  ...ORDER_EVENTS.map(ownEvent),
  {
    what: /^cashback\.granted by (?!(grant|a repeated request)$)/,
    reason: 'only a grant grants: what an order earns is in its completion',
  },
  {
    what: /^cashback\.voided by (?!(void|a repeated request)$)/,
    reason: 'only a void voids',
  },
  {
    what: /^cashback\.(available|expiring) by (?!(a date|a repeated request)$)/,
    reason: 'a date does this; an operation on the same day announces nothing earlier',
  },
  {
    what: /^(cashback\.expired|wallet\.debt_changed) by (void|create)$/,
    reason: 'a void takes only what can still be spent, and a creation moves no cashback',
  },
  {
    what: /^cashback\.expired by (grant|refund|change_customer)$/,
    reason: 'they release nothing, and a clock that stands has let everything expire that is due',
  },
  {
    what: /^(?!hold of an order that is pending,|complete of an order that is (pending|expired),|refund of an order that is (completed|partially_refunded),).*, time-zones$/,
    reason: 'what an order allows does not depend on the time zone',
  },
  {
    what: /partially_refunded, time-zones: a part$|, time-zones: (?!(a part|the rest|returns a new credit)$)/,
    reason: 'a refund has one day: that through which it returns',
  },
  {
    what: /completed, limits: leaves a debt$|partially_refunded, limits: (what .* has expired|returns a new credit)$/,
    reason: 'what was spent or has expired meanwhile depends on no limit',
  },
];
