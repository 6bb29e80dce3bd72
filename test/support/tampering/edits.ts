import { type Edit, granted, MINUTES, namedGrant, order, refund, UNKNOWN, wallet } from './statements.js';

export const WALLET_EDITS: Edit[] = [
  ['a higher balance', wallet('plain', 'balance_cents = balance_cents + 1')],
  ['a lower balance', wallet('redeemed', 'balance_cents = balance_cents - 1')],
  ['a debt without an entry', wallet('plain', 'debt_cents = 100')],
  ['a last number that is too high', wallet('plain', 'last_seq = last_seq + 1')],
  ['a last number that is too low', wallet('redeemed', 'last_seq = last_seq - 1')],
  ['a wallet of another merchant', wallet('redeemed', 'merchant_id = {patient.id}')],
  ['a wallet of another document', wallet('redeemed', "document = '00000000000'")],
  ['a document on the wallet of an erased customer', wallet('erased', "document = '00000000000'")],
  ['a wallet created after its entries', wallet('plain', `created_at = created_at + ${MINUTES}`)],
  ['a later next change', wallet('plain', `available_until = available_until + ${MINUTES}`)],
  ['an earlier next change', wallet('pending', `available_until = available_until - ${MINUTES}`)],
  ['no next change', wallet('redeemed', "available_until = '9999-12-31 23:59:59.999'")],
  ['a higher available balance', wallet('redeemed', 'available_cents = available_cents + 1')],
  ['a deleted wallet', 'DELETE FROM wallets WHERE id = {redeemed.wallet}'],
];

export const ORDER_EDITS: Edit[] = [
  ['a pending order that is completed', order('pending', "status = 'completed', completed_at = created_at")],
  ['a pending order that is cancelled', order('pending', "status = 'cancelled'")],
  [
    'an expired order that is cancelled and keeps its hold',
    order('expired', "status = 'cancelled', cancelled_at = expires_at, redemption_cents = 0"),
  ],
  ['a completed order that is pending', order('redeemed', "status = 'pending'")],
  [
    'all members of a completed order changed to pending',
    order('plain', "status = 'pending', completed_at = NULL, final_payment_methods = NULL, earned_cents = 0"),
  ],
  ['a completed order that is cancelled', order('redeemed', "status = 'cancelled'")],
  ['a completed order that is refunded', order('redeemed', "status = 'refunded'")],
  ['a refunded order that is completed', order('refunded', "status = 'completed'")],
  ['a partially refunded order that is refunded', order('partial', "status = 'refunded'")],
  ['a partially refunded order that is completed', order('partial', "status = 'completed'")],
  ['a cancelled order that is pending', order('cancelled', "status = 'pending'")],
  ['a completed order without completed_at', order('redeemed', 'completed_at = NULL')],
  ['a pending order with completed_at', order('pending', 'completed_at = created_at')],
  ['a completed order with cancelled_at', order('redeemed', 'cancelled_at = completed_at')],
  ['a cancelled order without cancelled_at', order('cancelled', 'cancelled_at = NULL')],
  ['a different completed_at', order('plain', 'completed_at = completed_at - INTERVAL 1 DAY')],
  [
    'a different completed_at of an order that earned nothing',
    order('unpaid', 'completed_at = completed_at - INTERVAL 1 DAY'),
  ],
  ['a created_at after the completion', order('plain', 'created_at = created_at + INTERVAL 1 HOUR')],
  ['a different expires_at', order('pending', `expires_at = expires_at + ${MINUTES}`)],
  ['an expires_at above what the policy allows', order('settled', 'expires_at = expires_at + INTERVAL 8 DAY')],
  ['an expires_at before the creation', order('settled', 'expires_at = created_at - INTERVAL 1 DAY')],
  ['a version below 1', order('plain', 'version = 0')],
  ['the first version of an order that changed', order('plain', 'version = 1')],
  ['an updated_at before the creation', order('plain', 'updated_at = created_at - INTERVAL 1 HOUR')],
  ['a higher total of a completed order', order('plain', 'total_cents = total_cents + 1000')],
  ['a lower total of a completed order', order('redeemed', 'total_cents = total_cents - 1000')],
  ['an eligible total of a completed order', order('plain', 'eligible_total_cents = total_cents - 1000')],
  ['an eligible total above the total', order('pending', 'eligible_total_cents = total_cents + 1')],
  ['cashback available earlier', order('plain', 'cashback_available_at = cashback_available_at - INTERVAL 1 DAY')],
  ['cashback that expires later', order('redeemed', 'cashback_expires_at = cashback_expires_at + INTERVAL 1 DAY')],
  ['dates of cashback on a pending order', order('pending', 'cashback_available_at = created_at')],
  ['a lower total of a pending order', order('pending', 'total_cents = total_cents - 1')],
  ['the total that an amended order had before', order('amended', 'total_cents = 15000')],
  ['the redemption that an amended order had before', order('amended', 'redemption_cents = 7500')],
  ['a higher total of a partially refunded order', order('partial', 'total_cents = total_cents + 1000')],
  ['a higher redemption of a completed order', order('redeemed', 'redemption_cents = redemption_cents + 1')],
  ['a higher redemption of a pending order', order('pending', 'redemption_cents = redemption_cents + 1')],
  ['a redemption of a cancelled order', order('cancelled', 'redemption_cents = 1')],
  ['a redemption above what the policy allows', order('settled', 'redemption_cents = total_cents')],
  ['more cashback earned', order('redeemed', 'earned_cents = earned_cents + 1')],
  ['cashback earned by a pending order', order('pending', 'earned_cents = 1')],
  ['more refunded', order('partial', 'refunded_cents = refunded_cents + 1')],
  ['a lower eligible part of the refunds', order('partial', 'refunded_eligible_cents = refunded_eligible_cents - 1')],
  ['no eligible part of the refunds', order('shipped', 'refunded_eligible_cents = 0')],
  ['a higher eligible part of the refunds', order('shipped', 'refunded_eligible_cents = refunded_eligible_cents + 1')],
  ['a different eligible total of a refunded order', order('shipped', 'eligible_total_cents = 11900')],
  ['no eligible total of a refunded order', order('shipped', 'eligible_total_cents = NULL')],
  ['less returned', order('partial', 'returned_cents = returned_cents - 1')],
  ['less taken back', order('partial', 'taken_back_cents = taken_back_cents - 1')],
  ['a different document', order('redeemed', "document = '00000000000'")],
  ['a document on the order of an erased customer', order('erased', "document = '00000000000'")],
  ['a different merchant', order('redeemed', 'merchant_id = {patient.id}')],
  ['a merchant that does not exist', order('settled', `merchant_id = ${UNKNOWN}`)],
  [
    'payment methods above the total of a pending order',
    order('pending', `payment_methods = JSON_ARRAY(JSON_OBJECT('id', 'pix', 'amountCents', total_cents + 1))`),
  ],
  ['different final payment methods', order('plain', `final_payment_methods = '[{"id":"pix","amountCents":20000}]'`)],
  ['final payment methods of a pending order', order('pending', "final_payment_methods = '[]'")],
  ['a different earn rate in the policy', order('plain', "policy = JSON_SET(policy, '$.earnRateBps', 600)")],
  ['a different number of release days in the policy', order('plain', "policy = JSON_SET(policy, '$.releaseDays', 9)")],
  [
    'a different number of validity days in the policy',
    order('plain', "policy = JSON_SET(policy, '$.validityDays', 181)"),
  ],
  ['an empty policy', order('redeemed', "policy = '{}'")],
  ['a deleted order', 'DELETE FROM orders WHERE id = {redeemed.order}'],
];

/**
 * Edits that cannot be found, because no other row contains the same value. The test checks that each stays unnoticed.
 */
export const UNNOTICED_EDITS: Edit[] = [
  ['a different external_id of an order, because only the caller knows it', order('plain', "external_id = 'other'")],
  ['different items of an order, because their prices need not add up to the total', order('plain', "items = '[]'")],
  [
    'a higher total of a pending order, because nothing was computed from it yet',
    order('settled', 'total_cents = total_cents + 1'),
  ],
  [
    'different rates in the policy of a pending order, because the merchant may have had them then',
    order('pending', "policy = JSON_SET(policy, '$.earnRateBps', 600)"),
  ],
  [
    'a different redemption of an expired order, because its hold ended without a trace in the order',
    order('restored', 'redemption_cents = redemption_cents - 1'),
  ],
  [
    'a created_at that is 3 minutes earlier, because no other row has it',
    order('plain', `created_at = created_at - ${MINUTES}`),
  ],
  [
    'a different expires_at of an order without a hold, because the caller can choose it',
    order('settled', `expires_at = expires_at + ${MINUTES}`),
  ],
  [
    'a refund without the eligible part that its request has, because only the caller knows what it sent',
    refund('shipped', 'requested_eligible_cents = NULL'),
  ],
  [
    'a different external_id of a grant, because only the caller knows it',
    namedGrant('redeemed', "external_id = 'other'"),
  ],
  [
    'a deleted grant that was not voided, because a grant of the operator may have no external ID',
    'DELETE FROM cashback_grants WHERE credit_id IN (SELECT id FROM cashback_credits WHERE wallet_id = {redeemed.wallet})',
  ],
  ['a different reason of a grant, because it is free text', granted('pending', "reason = 'other'")],
  [
    'a different expiry of a grant that is not the next date of its wallet, because the operator can choose it',
    granted('pending', 'expires_at = expires_at + INTERVAL 1 DAY'),
  ],
  [
    'an earlier creation date of a wallet, because a wallet can be older than its first entry',
    wallet('plain', 'created_at = created_at - INTERVAL 1 DAY'),
  ],
  [
    'a later date of an available balance, because nothing changes it until then',
    wallet('plain', `available_as_of = available_as_of + ${MINUTES}`),
  ],
  [
    'a different cancelled_at of an order without a hold, because no entry has the same date',
    order('cancelled', `cancelled_at = cancelled_at + ${MINUTES}`),
  ],
  [
    'a refund date that differs by 30 seconds, because the clocks of instances may differ as much',
    refund('partial', 'created_at = created_at + INTERVAL 30 SECOND'),
  ],
];
