import {
  again,
  earned,
  type Edit,
  entry,
  ENTRY_COLUMNS,
  granted,
  grantOf,
  hold,
  MINUTES,
  namedGrant,
  OTHER_CREDIT,
  refund,
  returned,
  returnedOf,
  UNKNOWN,
} from './statements.js';

export const CREDIT_EDITS: Edit[] = [
  ['more left of a spent credit', earned('debtor', 'remaining_cents = remaining_cents + 1')],
  ['less left of a credit', earned('redeemed', 'remaining_cents = remaining_cents - 1')],
  ['a higher amount of an earned credit', earned('plain', 'amount_cents = amount_cents + 1')],
  ['a higher amount of a granted credit', granted('redeemed', 'amount_cents = amount_cents + 1')],
  ['an earned credit in the wallet of another customer', earned('redeemed', 'wallet_id = {plain.wallet}')],
  ['an earned credit of another merchant', earned('redeemed', 'merchant_id = {patient.id}')],
  ['a spent credit of another merchant', earned('debtor', 'merchant_id = {patient.id}')],
  ['an earned credit of another order', earned('redeemed', 'order_id = {pending.order}')],
  ['an earned credit of no order', earned('redeemed', 'order_id = NULL')],
  ['an earned credit of an order that does not exist', earned('redeemed', `order_id = ${UNKNOWN}`)],
  ['a granted credit of an order', granted('pending', 'order_id = {pending.order}')],
  ['an earned credit that is available earlier', earned('plain', 'available_at = available_at - INTERVAL 8 DAY')],
  [
    'a granted credit that is available an hour earlier',
    granted('voided', 'available_at = available_at - INTERVAL 1 HOUR'),
  ],
  ['an earned credit that expires later', earned('plain', 'expires_at = expires_at + INTERVAL 1 DAY')],
  ['a lower number', granted('cancelled', 'seq = 0')],
  ['the number of another entry', earned('redeemed', 'seq = seq - 1')],
  ['more held', granted('pending', 'held_cents = held_cents + 1')],
  ['less held of an expired credit', granted('overdue', 'held_cents = held_cents - 1')],
  ['something held that no order holds', earned('redeemed', 'held_cents = 1')],
  ['a refund that made an earned credit', earned('partial', 'refund_id = {partial.refund1}')],
  ['an origin of a granted credit', granted('redeemed', `from_credit_id = ${OTHER_CREDIT}`)],
  ['a returned credit without its refund', returned('returned', 'refund_id = NULL')],
  ['a returned credit of another refund of the order', returned('returned', 'refund_id = {returned.refund2}')],
  ['a returned credit of the refund of another order', returned('returned', 'refund_id = {again.refund1}')],
  ['a returned credit of an order', returned('returned', 'order_id = {empty.order}')],
  ['a returned credit without an origin', returned('returned', 'from_credit_id = NULL')],
  [
    'a returned credit that comes from another granted credit',
    returned(
      'returned',
      `from_credit_id = (SELECT id FROM (${grantOf('returned')} ORDER BY c.id DESC LIMIT 1) AS other)`,
    ),
  ],
  ['a returned credit that comes from a returned one', again('from_credit_id = id')],
  [
    'a credit that returned again with the last origin',
    again(`from_credit_id = (SELECT id FROM (${returnedOf('returned')} LIMIT 1) AS other)`),
  ],
  ['a returned credit that is available later', returned('returned', `available_at = available_at + ${MINUTES}`)],
  ['a returned credit that expires later', returned('returned', 'expires_at = expires_at + INTERVAL 1 DAY')],
  ['a returned credit that expires earlier', returned('returned', 'expires_at = expires_at - INTERVAL 1 DAY')],
  ['a returned credit that expires two hours later', returned('revoked', 'expires_at = expires_at + INTERVAL 2 HOUR')],
  [
    'a later expiry of the credit that nothing returned to',
    granted('returned', 'expires_at = expires_at + INTERVAL 60 DAY'),
  ],
  [
    'a grant that expires two days after the requested day',
    granted('voided', 'expires_at = expires_at + INTERVAL 2 DAY'),
  ],
  ['an expired credit that expires later', granted('settled', 'expires_at = expires_at + INTERVAL 9 DAY')],
  ['the grant that expires first with a later date', granted('redeemed', 'expires_at = expires_at + INTERVAL 1 DAY')],
  [
    'a granted credit that is available only after it was held',
    granted('pending', 'available_at = available_at + INTERVAL 1 DAY'),
  ],
  [
    'a granted credit that expired before it was held',
    granted('pending', 'expires_at = available_at + INTERVAL 1000 MICROSECOND'),
  ],
  ['a different creation date', earned('redeemed', `created_at = created_at - ${MINUTES}`)],
  ['an earned credit of another store', earned('redeemed', "store = 'sp-014'")],
  ['an earned credit of no store', earned('redeemed', 'store = NULL')],
  ['a granted credit of another store', granted('redeemed', "store = 'SP-014'")],
  ['a granted credit of a store that its grant does not have', granted('pending', "store = 'SP-014'")],
  ['a returned credit of the store of the refund', returned('revoked', "store = 'RJ-003'")],
  ['a returned credit of no store', returned('revoked', 'store = NULL')],
  ['a deleted credit', 'DELETE FROM cashback_credits WHERE order_id = {redeemed.order}'],
  [
    'a credit without an entry',
    `INSERT INTO cashback_credits (id, wallet_id, merchant_id, seq, amount_cents, remaining_cents, held_cents, available_at, expires_at, created_at)
     SELECT ${UNKNOWN}, id, merchant_id, 9, 100, 100, 0, created_at, created_at + INTERVAL 1 DAY, created_at FROM wallets WHERE id = {plain.wallet}`,
  ],
];

export const HOLD_EDITS: Edit[] = [
  ['a lower hold', hold('pending', 'amount_cents = amount_cents - 1')],
  ['a hold on a credit of another customer', hold('pending', `credit_id = ${OTHER_CREDIT}`)],
  ['a hold of another merchant', hold('pending', 'merchant_id = {patient.id}')],
  ['a hold of another order', hold('pending', 'order_id = {settled.order}')],
  ['a hold of an order that does not exist', hold('pending', `order_id = ${UNKNOWN}`)],
  ['a hold of an order that is not pending', hold('pending', 'order_id = {cancelled.order}')],
  ['a lower hold on an expired credit', hold('overdue', 'amount_cents = amount_cents - 1')],
  ['a deleted hold', 'DELETE FROM cashback_holds WHERE order_id = {pending.order}'],
];

export const REFUND_EDITS: Edit[] = [
  ['a higher amount', refund('partial', 'amount_cents = amount_cents + 1')],
  ['a lower eligible part where the whole order is eligible', refund('partial', 'eligible_cents = eligible_cents - 1')],
  ['an eligible part that was not requested', refund('shipped', 'eligible_cents = 1, requested_eligible_cents = 1')],
  [
    'a requested part where the whole order is eligible',
    refund('partial', 'requested_eligible_cents = eligible_cents'),
  ],
  [
    'a lower eligible part of a refund that did not request one',
    'UPDATE refunds SET eligible_cents = eligible_cents - 1 WHERE id = {shipped.refund2}',
  ],
  ['more returned', refund('partial', 'returned_cents = returned_cents + 1')],
  ['more taken back', refund('partial', 'taken_back_cents = taken_back_cents + 1')],
  ['a different merchant', refund('partial', 'merchant_id = {patient.id}')],
  ['a different order', refund('refunded', 'order_id = {redeemed.order}')],
  ['an order that does not exist', refund('partial', `order_id = ${UNKNOWN}`)],
  ['a different creation date', refund('partial', 'created_at = created_at + INTERVAL 1 SECOND')],
  ['a different external_id', refund('partial', "external_id = 'other'")],
  ['another user', refund('partial', `created_by = ${UNKNOWN}`)],
  ['another store', refund('partial', "store = 'SP-014'")],
  ['no store', refund('partial', 'store = NULL')],
  ['a store of a refund that has none', "UPDATE refunds SET store = 'RJ-003' WHERE id = {partial.refund2}"],
  ['a deleted refund', 'DELETE FROM refunds WHERE id = {partial.refund2}'],
  [
    'an inserted refund',
    `INSERT INTO refunds (id, order_id, merchant_id, external_id, amount_cents, eligible_cents, returned_cents, taken_back_cents, created_at, created_by)
     SELECT ${UNKNOWN}, id, merchant_id, 'DEV-9', 100, 100, 0, 0, completed_at, completed_by FROM orders WHERE id = {redeemed.order}`,
  ],
];

export const GRANT_EDITS: Edit[] = [
  ['a higher voided amount', namedGrant('voided', 'voided_cents = voided_cents + 1')],
  ['no voided amount', namedGrant('voided', 'voided_cents = NULL')],
  ['a voided amount without an entry', namedGrant('redeemed', 'voided_cents = 1, voided_at = UTC_TIMESTAMP(3)')],
  ['no date of the void', namedGrant('voided', 'voided_at = NULL')],
  ['a date of the void after its entry', namedGrant('voided', `voided_at = voided_at + ${MINUTES}`)],
  ['a date of the void before the grant', namedGrant('voided', `voided_at = voided_at - ${MINUTES}`)],
  ['an earlier date of a void', namedGrant('revoked', `voided_at = voided_at - ${MINUTES}`)],
  ['less voided of a returned credit', namedGrant('revoked', 'voided_cents = voided_cents - 1')],
  ['a date of a void that never happened', namedGrant('redeemed', 'voided_at = UTC_TIMESTAMP(3)')],
  ['another user', namedGrant('redeemed', `created_by = ${UNKNOWN}`)],
  ['no user of the void', namedGrant('voided', 'voided_by = NULL')],
  ['another user of the void', namedGrant('voided', "voided_by = 'operator'")],
  ['a user of a void that never happened', namedGrant('redeemed', 'voided_by = created_by')],
  ['a reason of a void that never happened', namedGrant('redeemed', "void_reason = 'mistake'")],
  ['a different external_id', namedGrant('redeemed', "external_id = 'other'")],
  ['another merchant', namedGrant('redeemed', 'merchant_id = {patient.id}')],
  [
    'the credit of an order',
    namedGrant('redeemed', 'credit_id = (SELECT id FROM cashback_credits WHERE order_id = {redeemed.order})'),
  ],
  ['a credit that does not exist', namedGrant('redeemed', `credit_id = ${UNKNOWN}`)],
  ...['voided', 'redeemed'].map((scene): Edit => [
    `a deleted grant that was ${scene}`,
    `DELETE FROM cashback_grants WHERE credit_id IN (SELECT id FROM cashback_credits WHERE wallet_id = {${scene}.wallet})`,
  ]),
];

export const ENTRY_EDITS: Edit[] = [
  ['a higher amount', entry('plain', 'earn', 'amount_cents = amount_cents + 1')],
  ['a higher balance after it', entry('plain', 'earn', 'balance_cents = balance_cents + 1')],
  ['a debt after it', entry('plain', 'earn', 'debt_cents = 1')],
  ['a different number', entry('plain', 'earn', 'seq = 2')],
  ['a different wallet', entry('redeemed', 'earn', 'wallet_id = {plain.wallet}, seq = 2')],
  ['a different merchant', entry('redeemed', 'earn', 'merchant_id = {patient.id}')],
  ['a different credit of the same wallet', entry('redeemed', 'redeem', `credit_id = ${OTHER_CREDIT}`)],
  ['a credit of another wallet', entry('plain', 'earn', `credit_id = ${OTHER_CREDIT}`)],
  ['a grant instead of an earn entry', entry('plain', 'earn', "kind = 'grant'")],
  ['an expiry instead of a redemption', entry('redeemed', 'redeem', "kind = 'expire'")],
  ['an amount taken back instead of an expiry', entry('settled', 'expire', "kind = 'take_back'")],
  ['a redemption instead of an amount taken back', entry('partial', 'take_back', "kind = 'redeem'")],
  ['an amount taken back instead of a void', entry('voided', 'void', "kind = 'take_back'")],
  ['an expiry instead of a void', entry('voided', 'void', "kind = 'expire'")],
  ['a void instead of an expiry', entry('settled', 'expire', "kind = 'void'")],
  ['an order on a void entry', entry('voided', 'void', 'order_id = {pending.order}')],
  ['a different order', entry('redeemed', 'redeem', 'order_id = {pending.order}')],
  ['an order of the same customer', entry('debtor', 'repay', 'order_id = {spender.order}')],
  ['an order that does not exist', entry('redeemed', 'earn', `order_id = ${UNKNOWN}`)],
  ['no order', entry('redeemed', 'redeem', 'order_id = NULL')],
  ['an order on a grant entry', entry('pending', 'grant', 'order_id = {pending.order}')],
  ['a different refund of the same order', entry('partial', 'return', 'refund_id = {partial.refund2}')],
  ['no refund', entry('partial', 'take_back', 'refund_id = NULL')],
  ['no refund on a repayment', entry('returner', 'repay', 'refund_id = NULL')],
  ['a refund on a repayment from new cashback', entry('debtor', 'repay', 'refund_id = {debtor.refund1}')],
  ['a refund on an earn entry', entry('partial', 'earn', 'refund_id = {partial.refund1}')],
  [
    'an effective date before the creation date',
    entry('plain', 'earn', 'effective_at = effective_at - INTERVAL 1 SECOND'),
  ],
  [
    'a different effective date of an expiry',
    entry('settled', 'expire', 'effective_at = effective_at - INTERVAL 1 SECOND'),
  ],
  ['a different creation date', entry('plain', 'earn', 'created_at = created_at + INTERVAL 1 SECOND')],
  [
    'a date of writing before the entry before',
    entry('settled', 'expire', 'created_at = created_at - INTERVAL 1 HOUR'),
  ],
  [
    'a return to another credit of the order',
    entry('returned', 'return', `credit_id = (SELECT id FROM (${grantOf('returned')} ORDER BY c.id LIMIT 1) AS other)`),
  ],
  ['a different refund of a return to a new credit', entry('revoked', 'return', 'refund_id = {returned.refund1}')],
  [
    'an expiry that was written before its credit expired',
    entry('lapsed', 'expire', `created_at = effective_at - ${MINUTES}`),
  ],
  ...(
    [
      ['redeemed', 'earn'],
      ['redeemed', 'grant'],
      ['redeemed', 'redeem'],
      ['partial', 'return'],
      ['partial', 'take_back'],
      ['voided', 'void'],
      ['debtor', 'debt'],
      ['debtor', 'repay'],
      ['returner', 'repay'],
    ] as const
  ).flatMap(([scene, kind]): Edit[] => [
    [`no user of ${kind} (${scene})`, entry(scene, kind, 'made_by = NULL')],
    [`another user of ${kind} (${scene})`, entry(scene, kind, `made_by = ${UNKNOWN}`)],
    [`another store of ${kind} (${scene})`, entry(scene, kind, "store = 'sp-014'")],
  ]),
  ['no store of a redemption', entry('redeemed', 'redeem', 'store = NULL')],
  ['the store of the order on an entry of a refund in another store', entry('partial', 'return', "store = 'SP-014'")],
  ['a user of an expiry', entry('settled', 'expire', "made_by = 'operator'")],
  ['a store of an expiry', entry('settled', 'expire', "store = 'SP-014'")],
  ...['take_back', 'repay'].map((kind): Edit => [
    `a user of a ${kind} with what an expired order released`,
    `UPDATE cashback_entries SET made_by = {merchant.user} WHERE order_id = {owing.order} AND kind = '${kind}'`,
  ]),
  ['a deleted entry', "DELETE FROM cashback_entries WHERE wallet_id = {redeemed.wallet} AND kind = 'redeem'"],
  [
    'an entry that somebody added',
    `INSERT INTO cashback_entries (${ENTRY_COLUMNS})
     SELECT wallet_id, merchant_id, 2, 'grant', 1, balance_cents + 1, 0, credit_id, NULL, NULL, created_at, created_at, made_by, store
       FROM cashback_entries WHERE wallet_id = {plain.wallet}`,
  ],
];

/** Edits of the sums, and of the merchant's position. The ledger of this merchant has days that are summed. */
const SUMMED = 'merchant_id = (SELECT merchant_id FROM wallets WHERE id = {returned.wallet})';
const sum = (change: string): string => `UPDATE ledger_days SET ${change} WHERE ${SUMMED} ORDER BY day, kind LIMIT 1`;
const position = (change: string): string => `UPDATE ledger_positions SET ${change} WHERE ${SUMMED}`;

export const SUM_EDITS: Edit[] = [
  ['a higher sum', sum('amount_cents = amount_cents + 1')],
  ['a lower number of entries', sum('entries = entries - 1')],
  ['a sum of another kind', sum("kind = 'void'")],
  ['a sum of another day', sum("day = '2020-01-01'")],
  ['a sum of a day that is not summed yet', sum("day = '9998-01-01'")],
  ['a sum of another store', sum("store = 'X'")],
  ['a sum of a credit of another store', sum("credit_store = 'X'")],
  ['a missing sum', `DELETE FROM ledger_days WHERE ${SUMMED} ORDER BY day, kind LIMIT 1`],
  [
    'an extra sum',
    `INSERT INTO ledger_days SELECT merchant_id, '2020-01-01', '', '', 'grant', 1, 1 FROM wallets WHERE id = {returned.wallet}`,
  ],
  ['a sum of another merchant', sum('merchant_id = {patient.id}')],
  ['a position of the future', position('summed_until = summed_until + INTERVAL 1 YEAR')],
  ['a position before days that are summed', position('summed_until = summed_until - INTERVAL 30 DAY')],
  ['no position', `DELETE FROM ledger_positions WHERE ${SUMMED}`],
];
