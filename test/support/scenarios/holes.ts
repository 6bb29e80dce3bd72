interface Hole {
  what: RegExp;
  reason: string;
}

const ORDER_EVENTS: [type: string, operations: string][] = [
  ['created', 'create|sell'],
  ['amended', 'amend'],
  ['redemption_held', 'hold|renew'],
  ['redemption_released', 'hold'],
  ['renewed', 'renew'],
  ['expired', 'a date'],
  ['completed', 'complete|sell'],
  ['cancelled', 'cancel'],
  ['refunded', 'refund'],
  ['refund_voided', 'void_refund'],
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
    what: /^cashback\.debited by (?!(debit|a repeated request)$)/,
    reason: 'only a debit debits',
  },
  {
    what: /^cashback\.debit_voided by (?!(void debit|a repeated request)$)/,
    reason: 'only the void of a debit restores it',
  },
  {
    what: /^wallet\.frozen by (?!(freeze|a repeated request)$)|^wallet\.unfrozen by (?!(unfreeze|a repeated request)$)/,
    reason: 'only an employee freezes a wallet, or unfreezes it',
  },
  {
    what: /^cashback\.(available|expiring) by (?!(a date|a repeated request)$)/,
    reason: 'a date does this; an operation on the same day announces nothing earlier',
  },
  {
    what: /^(cashback\.expired|wallet\.debt_changed) by (void|create|debit|freeze|unfreeze|(change |end )?campaign)$/,
    reason: 'a void and a debit take only what can still be spent, and the others move no cashback',
  },
  {
    what: /^(change |end )?campaign while the wallet is frozen$/,
    reason: 'a campaign is of all customers',
  },
  {
    what: /^cashback\.expired by (grant|refund|change_customer|void_refund|void debit)$/,
    reason: 'they release nothing, and a clock that stands has let everything expire that is due',
  },
  {
    what: /^(?!hold of an order that is pending,|complete of an order that is (pending|expired),|refund of an order that is (completed|partially_refunded),|void_refund of an order that is partially_refunded,).*, time-zones$/,
    reason: 'what an order allows does not depend on the time zone',
  },
  {
    what: /^void_refund of an order that is (pending|pending with a hold|expired|cancelled), /,
    reason: 'such an order has no refund',
  },
  {
    what: /^the void of a debit restores: what is claimed$/,
    reason: 'a refund claims only what is more than debits took, so a void restores nothing beside a claim',
  },
  {
    what: /partially_refunded, time-zones: a part$|, time-zones: (?!(a part|the rest|returns a new credit)$)/,
    reason: 'a refund has one day: that through which it returns',
  },
  {
    what: /completed, limits: leaves a debt$|, limits: claims what is held$|partially_refunded, limits: (what .* has expired|returns a new credit)$/,
    reason: 'what was spent or has expired meanwhile depends on no limit',
  },
];
