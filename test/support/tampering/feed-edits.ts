import { type Edit, MINUTES, UNKNOWN } from './statements.js';

/** An edit with a part of the invariant that finds it, because a missing number would hide that no other rule does. */
export type FeedEdit = [...Edit, found: string];

const VERSIONS = 'each version of an order';
const LEDGER = 'what was granted';
const SUBJECTS = 'is about an order or a wallet';
const GRANT = 'the grant in an event';
const DEBIT = 'the debit in an event';
const FREEZE = 'a wallet was last frozen';
const NUMBERS = 'numbered without gaps';
const WALLET = 'the wallet in an event has';

/** The first event of a type about the order or the wallet of a scene. */
const first = (type: string, scene: string, table = 'events'): string => {
  const subject = type.startsWith('order.') ? 'order' : 'wallet';
  return `WHERE type = '${type}' AND subject_id = {${scene}.${subject}} ORDER BY ${table === 'events' ? 'sequence' : 'id'} LIMIT 1`;
};
const event = (type: string, scene: string, change: string): string =>
  `UPDATE events SET ${change} ${first(type, scene)}`;
const said = (type: string, scene: string, from: string, to: string): string =>
  event(type, scene, `data = REPLACE(data, '${from}', '${to}')`);
const copied = (type: string, scene: string, id: string): string =>
  `INSERT INTO event_outbox (merchant_id, event_id, type, subject_id, data, occurred_at, made_by)
   SELECT merchant_id, ${id}, type, subject_id, data, occurred_at, made_by FROM events ${first(type, scene)}`;
const LATER = `occurred_at = occurred_at + ${MINUTES}`;
const WAITS_TWICE = `INSERT INTO event_outbox (merchant_id, event_id, type, subject_id, data, occurred_at, made_by)
   SELECT merchant_id, event_id, type, subject_id, data, occurred_at, made_by FROM event_outbox WHERE subject_id = {waiting.order} LIMIT 1`;
const feed = (change: string): string => `UPDATE event_feeds SET ${change} WHERE merchant_id = {merchant.id}`;

/** A scene with an event of each type, and another type that the event does not have. */
const OF_ORDERS = [
  ['order.created', 'amended', 'order.amended'],
  ['order.amended', 'amended', 'order.cancelled'],
  ['order.redemption_held', 'pending', 'order.redemption_released'],
  ['order.redemption_released', 'renewed', 'order.redemption_held'],
  ['order.renewed', 'renewed', 'order.expired'],
  ['order.expired', 'settled', 'order.amended'],
  ['order.completed', 'partial', 'order.refunded'],
  ['order.cancelled', 'cancelled', 'order.expired'],
  ['order.refunded', 'partial', 'order.completed'],
  ['order.refund_voided', 'undone', 'order.refunded'],
  ['order.customer_changed', 'moved', 'order.refunded'],
] as const;
const OF_LEDGER = [
  ['cashback.granted', 'pending', 'cashback.voided'],
  ['cashback.voided', 'voided', 'cashback.granted'],
  ['cashback.debited', 'debited', 'cashback.debit_voided'],
  ['cashback.debit_voided', 'restored', 'cashback.debited'],
  ['cashback.expired', 'settled', 'cashback.voided'],
  ['wallet.debt_changed', 'debtor', 'cashback.expired'],
] as const;

const OF_EACH_TYPE = [...OF_ORDERS, ...OF_LEDGER].flatMap(([type, scene, other]): FeedEdit[] => {
  const found = type.startsWith('order.') ? VERSIONS : LEDGER;
  return [
    [`a deleted ${type}`, `DELETE FROM events ${first(type, scene)}`, found],
    [`a second ${type}`, copied(type, scene, UNKNOWN), found],
    [`${type} of another merchant`, event(type, scene, 'merchant_id = {patient.id}'), SUBJECTS],
    [`${type} instead of ${other}`, event(type, scene, `type = '${other}'`), found],
    [`${type} of an order or a wallet that does not exist`, event(type, scene, `subject_id = ${UNKNOWN}`), found],
  ];
});

/** Types with who did it: the value of another author. */
const BY_OTHERS = [
  ...['amended', 'renewed'].map((scene) => [`order.${scene}`, scene, 'NULL']),
  ['order.redemption_held', 'pending', 'NULL'],
  ['order.redemption_released', 'renewed', 'NULL'],
  ...['NULL', UNKNOWN].flatMap((author) => [
    ['order.created', 'open', author],
    ['order.completed', 'redeemed', author],
    ['order.customer_changed', 'moved', author],
    ['order.cancelled', 'cancelled', author],
    ['order.refunded', 'partial', author],
    ['order.refund_voided', 'undone', author],
    ['cashback.granted', 'redeemed', author],
    ['cashback.voided', 'voided', author],
    ['cashback.debited', 'debited', author],
    ['cashback.debit_voided', 'restored', author],
    ['wallet.debt_changed', 'debtor', author],
  ]),
  ['order.expired', 'settled', '{merchant.user}'],
  ['cashback.expired', 'settled', '{merchant.user}'],
  ['wallet.debt_changed', 'owing', "'operator'"],
].map(([type, scene, author]): FeedEdit => [
  `${type} by ${author}`,
  event(type!, scene!, `made_by = ${author}`),
  type!.startsWith('order.') ? VERSIONS : LEDGER,
]);

const OF_ORDER: FeedEdit[] = [
  ['an event of another order', event('order.completed', 'partial', 'subject_id = {cancelled.order}'), VERSIONS],
  ['an event of no order', event('order.completed', 'partial', `subject_id = ${UNKNOWN}`), SUBJECTS],
  ['a higher version', said('order.amended', 'amended', '"version":3', '"version":4'), VERSIONS],
  ['no version', said('order.amended', 'amended', '"version":3,', ''), VERSIONS],
  ['the first version', said('order.completed', 'partial', '"version":2', '"version":1'), VERSIONS],
  [
    'another order in the data',
    event('order.completed', 'partial', 'data = REPLACE(data, {partial.order}, {cancelled.order})'),
    VERSIONS,
  ],
  [
    'another wallet in the data',
    event('order.completed', 'partial', 'data = REPLACE(data, {partial.wallet}, {cancelled.wallet})'),
    VERSIONS,
  ],
  ['another status of a creation', said('order.created', 'open', '"status":"pending"', '"status":"expired"'), VERSIONS],
  ['another total of a creation', said('order.created', 'open', '"total":"150.00"', '"total":"150.01"'), VERSIONS],
  ['another store of a creation', said('order.created', 'redeemed', '"store":"SP', '"store":"sp'), VERSIONS],
  [
    'an earn_amount of a creation',
    said('order.created', 'open', '"earn_amount":null', '"earn_amount":"1.00"'),
    VERSIONS,
  ],
  ['another earn_amount', said('order.completed', 'asked', '"earn_amount":"10.00"', '"earn_amount":"9.00"'), VERSIONS],
  ['a later creation', event('order.created', 'open', LATER), VERSIONS],
  [
    'the document of a creation',
    said('order.created', 'open', '"order":{', '"order":{"document":"52998224725",'),
    VERSIONS,
  ],
  [
    'another first wallet of a correction',
    event('order.customer_changed', 'moved', 'data = REPLACE(data, {previous.wallet}, {cancelled.wallet})'),
    VERSIONS,
  ],
  [
    'another wallet of a correction',
    event('order.customer_changed', 'moved', 'data = REPLACE(data, {moved.wallet}, {cancelled.wallet})'),
    VERSIONS,
  ],
  [
    'no first wallet of a correction',
    said('order.customer_changed', 'moved', '"previous_wallet":', '"other":'),
    VERSIONS,
  ],
  ['another status', said('order.expired', 'settled', '"status":"expired"', '"status":"pending"'), VERSIONS],
  ['another total', said('order.cancelled', 'cancelled', '"total":"150.00"', '"total":"150.01"'), VERSIONS],
  ['another held amount', said('order.redemption_held', 'pending', '"held":"10.00"', '"held":"10.01"'), VERSIONS],
  [
    'a lapsed amount of a pending order',
    said('order.redemption_held', 'amended', '"lapsed":"0.00"', '"lapsed":"0.01"'),
    VERSIONS,
  ],
  ['another lapsed amount', said('order.expired', 'expired', '"lapsed":"10.00"', '"lapsed":"0.00"'), VERSIONS],
  ['another redeemed amount', said('order.completed', 'redeemed', '"redeemed":"10.00"', '"redeemed":"0.00"'), VERSIONS],
  [
    'another earned amount',
    said('order.completed', 'redeemed', '"to_receive":{"amount":"7.00"', '"to_receive":{"amount":"7.01"'),
    VERSIONS,
  ],
  ['another returned amount', said('order.refunded', 'refunded', '"returned":"10.00"', '"returned":"1.00"'), VERSIONS],
  [
    'another taken back amount',
    said('order.refunded', 'refunded', '"taken_back":"7.00"', '"taken_back":"7.01"'),
    VERSIONS,
  ],
  [
    'another refunded amount',
    said('order.refunded', 'refunded', '"refunded":{"amount":"150.00"', '"refunded":{"amount":"15.00"'),
    VERSIONS,
  ],
  ['another external_id', said('order.amended', 'amended', '"external_id":"', '"external_id":"1'), VERSIONS],
  ['another creation date', said('order.amended', 'amended', '"created_at":"2', '"created_at":"1'), VERSIONS],
  ['another expiry', said('order.cancelled', 'cancelled', '"expires_at":"2', '"expires_at":"1'), VERSIONS],
  ['another store', said('order.completed', 'redeemed', '"store":"SP', '"store":"sp'), VERSIONS],
  ['another store of a refund', said('order.refunded', 'partial', '"store":"RJ', '"store":"rj'), VERSIONS],
  ['another external_id of a refund', said('order.refunded', 'partial', '"DEV-1"', '"DEV-9"'), VERSIONS],
  [
    'another amount to pay back',
    said('order.refunded', 'partial', '"cashback_returned":"2.22"', '"cashback_returned":"2.23"'),
    VERSIONS,
  ],
  ['no refund', said('order.refunded', 'partial', '"refund":{', '"other":{'), VERSIONS],
  [
    'another refund of the order',
    event('order.refunded', 'partial', 'data = REPLACE(data, {partial.refund1}, {partial.refund2})'),
    VERSIONS,
  ],
  [
    'the void of another refund',
    event('order.refund_voided', 'undone', 'data = REPLACE(data, {undone.refund2}, {undone.refund1})'),
    VERSIONS,
  ],
  [
    'the void of the refund of another order',
    event('order.refund_voided', 'undone', 'data = REPLACE(data, {undone.refund2}, {partial.refund2})'),
    VERSIONS,
  ],
  ['the void of no refund', said('order.refund_voided', 'undone', '"refund":{', '"other":{'), VERSIONS],
  ['another date of a void', said('order.refund_voided', 'undone', '"voided_at":"2', '"voided_at":"1'), VERSIONS],
  [
    'a date of a void in the event of the refund',
    event('order.refunded', 'undone', `data = JSON_SET(data, '$.refund.voided_at', '2026-11-20T13:45:00.000Z')`),
    VERSIONS,
  ],
  [
    'a reason of a void',
    said('order.refund_voided', 'undone', '"refund":{', '"refund":{"void_reason":"Ana",'),
    VERSIONS,
  ],
  [
    'whether a refund can be undone',
    said('order.refunded', 'partial', '"refund":{', '"refund":{"voidable":true,'),
    VERSIONS,
  ],
  ['a different instant of a void', event('order.refund_voided', 'undone', LATER), VERSIONS],
  [
    'another refunded amount after a void',
    said('order.refund_voided', 'undone', '"refunded":{"amount":"33.33"', '"refunded":{"amount":"66.66"'),
    VERSIONS,
  ],
  ['a different instant of the last event', event('order.refunded', 'refunded', LATER), VERSIONS],
  ['a different instant of a completion', event('order.completed', 'partial', LATER), VERSIONS],
  ['the document', said('order.completed', 'partial', '"order":{', '"order":{"document":"52998224725",'), VERSIONS],
  ['metadata', said('order.completed', 'partial', '"order":{', '"order":{"metadata":{"name":"Ana"},'), VERSIONS],
  [
    'the reason of a cancellation',
    said('order.cancelled', 'cancelled', '"order":{', '"order":{"cancel_reason":"Ana is ill",'),
    VERSIONS,
  ],
  ['a reason of a refund', said('order.refunded', 'partial', '"refund":{', '"refund":{"reason":"Broken",'), VERSIONS],
  ['an amendment instead of a hold', event('order.redemption_held', 'pending', "type = 'order.amended'"), VERSIONS],
  ['a different instant of a hold', event('order.redemption_held', 'amended', LATER), SUBJECTS],
  ['another ID', event('order.redemption_held', 'amended', `id = ${UNKNOWN}`), SUBJECTS],
  [
    'another available balance',
    said('order.redemption_held', 'amended', '"to_redeem":{"available":"', '"to_redeem":{"available":"1'),
    VERSIONS,
  ],
  ['another member', said('order.completed', 'redeemed', '"wallet":{', '"wallet":{"other":"1",'), VERSIONS],
  [
    'another hold of an earlier version',
    said('order.redemption_held', 'amended', '"held":"75.00","lapsed"', '"held":"7.00","lapsed"'),
    VERSIONS,
  ],
  [
    'another total of an earlier version',
    said('order.redemption_held', 'amended', '"total":"150.00"', '"total":"160.00"'),
    VERSIONS,
  ],
  [
    'another expiry of an earlier version',
    said('order.amended', 'amended', '"expires_at":"20', '"expires_at":"21'),
    VERSIONS,
  ],
  [
    'another redeemed amount of an earlier version',
    said('order.completed', 'partial', '"redeemed":"10.00"', '"redeemed":"10.01"'),
    VERSIONS,
  ],
  [
    'another lapsed amount of an order that held nothing',
    said('order.expired', 'settled', '"lapsed":"0.00"', '"lapsed":"1.00"'),
    VERSIONS,
  ],
  ['another maximum', said('order.cancelled', 'cancelled', '"maximum":"', '"maximum":"1'), VERSIONS],
  [
    'a status of the cashback',
    said('order.completed', 'partial', '"status":"available"', '"status":"pending"'),
    VERSIONS,
  ],
  ['data that is no JSON', event('order.completed', 'partial', "data = '{'"), VERSIONS],
];

const OF_WALLET: FeedEdit[] = [
  ['an event of another wallet', event('cashback.granted', 'pending', 'subject_id = {plain.wallet}'), LEDGER],
  [
    'a higher granted amount',
    said('cashback.granted', 'pending', '"amount":"50.00","grant"', '"amount":"50.01","grant"'),
    LEDGER,
  ],
  [
    'a lower voided amount',
    said('cashback.voided', 'voided', '"amount":"50.00","grant"', '"amount":"5.00","grant"'),
    LEDGER,
  ],
  ['another expired amount', said('cashback.expired', 'settled', '"amount":"50.00"', '"amount":"50.01"'), LEDGER],
  ['no expired amount', said('cashback.expired', 'settled', '"amount":"50.00",', ''), LEDGER],
  ['a debt that is repaid instead', said('wallet.debt_changed', 'debtor', '"change":"', '"change":"-'), LEDGER],
  ['another grant', said('cashback.granted', 'pending', '"grant":{"id":"0', '"grant":{"id":"1'), LEDGER],
  ['another external_id of a grant', said('cashback.granted', 'voided', '"external_id":"S', '"external_id":"s'), GRANT],
  ['another grant amount', said('cashback.voided', 'voided', '"amount":"', '"amount":"1'), GRANT],
  ['another date of a grant', said('cashback.granted', 'voided', '"available_at":"2', '"available_at":"1'), GRANT],
  ['another expiry of a grant', said('cashback.voided', 'voided', '"expires_at":"2', '"expires_at":"1'), GRANT],
  [
    'a later last day of a grant',
    event(
      'cashback.granted',
      'voided',
      "data = JSON_SET(data, '$.grant.expires_on', CAST(CAST(JSON_VALUE(data, '$.grant.expires_on') AS DATE) + INTERVAL 1 DAY AS CHAR))",
    ),
    GRANT,
  ],
  ['no expiry of a grant', said('cashback.granted', 'voided', '"expires_at"', '"expired_at"'), GRANT],
  ['a different instant', event('cashback.granted', 'pending', LATER), LEDGER],
  ['another debt', said('wallet.debt_changed', 'debtor', '"debt":"', '"debt":"1'), WALLET],
  ['more available', said('cashback.granted', 'pending', '"available":"', '"available":"1'), WALLET],
  ...['order.completed', 'order.redemption_held', 'cashback.granted', 'cashback.available'].flatMap(
    (type): FeedEdit[] =>
      ['available', 'pending', 'held', 'debt'].map((sum) => [
        `one centavo more of ${sum} in ${type}`,
        event(
          type,
          { 'cashback.granted': 'pending', 'cashback.available': 'dated' }[type] ?? 'amended',
          `data = JSON_SET(data, '$.wallet.${sum}', CAST(JSON_VALUE(data, '$.wallet.${sum}') + 0.01 AS CHAR))`,
        ),
        WALLET,
      ]),
  ),
  ['another last day of a grant', said('cashback.granted', 'voided', '"expires_on":"20', '"expires_on":"21'), GRANT],
  [
    'a higher announced amount',
    said('cashback.available', 'dated', '"amount":"', '"amount":"1'),
    'at most with their amounts',
  ],
  [
    'another announced date',
    said('cashback.available', 'dated', '"available_at":"2', '"available_at":"1'),
    'at most with their amounts',
  ],
  ['another ID', event('cashback.available', 'dated', `id = ${UNKNOWN}`), SUBJECTS],
  ['a second announcement', copied('cashback.available', 'dated', UNKNOWN), 'a date of credits is announced once'],
  ['an announcement to another merchant', event('cashback.available', 'dated', 'merchant_id = {patient.id}'), SUBJECTS],
  ['an announcement by a user', event('cashback.available', 'dated', "made_by = 'operator'"), 'by no user'],
  ['another user of a first void', event('cashback.voided', 'voided', "made_by = 'operator'"), 'voided first'],
  [
    'a lower debited amount',
    said('cashback.debited', 'debited', '"amount":"55.00","debit"', '"amount":"5.00","debit"'),
    LEDGER,
  ],
  [
    'a higher restored amount',
    said('cashback.debit_voided', 'restored', '"amount":"25.00","debit"', '"amount":"30.00","debit"'),
    LEDGER,
  ],
  ['another debit', said('cashback.debited', 'debited', '"debit":{"id":"0', '"debit":{"id":"1'), LEDGER],
  ['another external_id of a debit', said('cashback.debited', 'debited', '"FIX-1"', '"FIX-2"'), DEBIT],
  [
    'another amount of a debit',
    said('cashback.debited', 'debited', '"store":"SP-014","amount":"', '"store":"SP-014","amount":"1'),
    DEBIT,
  ],
  [
    'another amount of a voided debit',
    said('cashback.debit_voided', 'restored', '"amount":"30.00"', '"amount":"25.00"'),
    DEBIT,
  ],
  ['another store of a debit', said('cashback.debited', 'debited', '"store":"SP', '"store":"sp'), DEBIT],
  [
    'a store of a debit that has none',
    said('cashback.debit_voided', 'restored', '"store":null', '"store":"SP"'),
    DEBIT,
  ],
  ['another instant of a debit', event('cashback.debited', 'debited', LATER), DEBIT],
  [
    'a void before its debit is voided',
    event('cashback.debit_voided', 'restored', `occurred_at = occurred_at - ${MINUTES}`),
    DEBIT,
  ],
  ['the reason of a debit', said('cashback.debited', 'debited', '"debit":{', '"debit":{"reason":"Twice",'), SUBJECTS],
  [
    'the metadata of a debit',
    said('cashback.debited', 'debited', '"debit":{', '"debit":{"metadata":{"till":"3"},'),
    SUBJECTS,
  ],
  ...['frozen', 'unfrozen'].flatMap((scene): FeedEdit[] => {
    const type = `wallet.${scene}`;
    const other = scene === 'frozen' ? 'wallet.unfrozen' : 'wallet.frozen';
    return [
      [`a deleted ${type}`, `DELETE FROM events ${first(type, scene)}`, FREEZE],
      [`${type} instead of ${other}`, event(type, scene, `type = '${other}'`), FREEZE],
      [`${type} of another merchant`, event(type, scene, 'merchant_id = {patient.id}'), SUBJECTS],
      [`${type} of another wallet`, event(type, scene, 'subject_id = {plain.wallet}'), FREEZE],
      [`${type} by another user`, event(type, scene, `made_by = ${UNKNOWN}`), FREEZE],
      [`${type} by no user`, event(type, scene, 'made_by = NULL'), FREEZE],
      [`${type} at another instant`, event(type, scene, LATER), FREEZE],
      [
        `${type} that says ${other}`,
        said(type, scene, `"frozen":${scene === 'frozen'}`, `"frozen":${scene !== 'frozen'}`),
        'an event that a wallet was',
      ],
      [`another balance in ${type}`, said(type, scene, '"available":"', '"available":"1'), WALLET],
      [`a reason of ${type}`, said(type, scene, '{"wallet":', '{"reason":"Stolen","wallet":'), SUBJECTS],
    ];
  }),
  ['another store of a grant', said('cashback.granted', 'voided', '"store":"SP', '"store":"sp'), GRANT],
  ['no store of a grant', said('cashback.granted', 'voided', '"store":"SP-014"', '"store":null'), GRANT],
  ['a store of a grant that has none', said('cashback.granted', 'pending', '"store":null', '"store":"SP"'), GRANT],
  ['an announcement to no wallet', event('cashback.available', 'dated', `subject_id = ${UNKNOWN}`), SUBJECTS],
  [
    'another wallet in the data',
    event('cashback.available', 'dated', 'data = REPLACE(data, {dated.wallet}, {plain.wallet})'),
    SUBJECTS,
  ],
  ['an unknown type', event('cashback.available', 'dated', "type = 'wallet.erased'"), SUBJECTS],
  ['the document', said('cashback.available', 'dated', '"wallet":{', '"wallet":{"document":"52998224725",'), SUBJECTS],
  ['a reason', said('cashback.granted', 'pending', '"grant":{', '"grant":{"reason":"Late",'), SUBJECTS],
];

const OF_FEED: FeedEdit[] = [
  ['a number that is skipped', event('order.cancelled', 'cancelled', 'sequence = sequence + 1000'), NUMBERS],
  ['a number below the first', event('order.cancelled', 'cancelled', 'sequence = 0'), NUMBERS],
  ['the first event is deleted', `DELETE FROM events WHERE merchant_id = {merchant.id} AND sequence = 1`, NUMBERS],
  [
    'the last event is deleted',
    'DELETE FROM events WHERE merchant_id = {merchant.id} ORDER BY sequence DESC LIMIT 1',
    NUMBERS,
  ],
  ['a last number that is too high', feed('last_sequence = last_sequence + 1'), NUMBERS],
  ['a last number that is too low', feed('last_sequence = last_sequence - 1'), NUMBERS],
  ['an oldest number that is too high', feed('oldest_sequence = 2'), NUMBERS],
  ['an oldest number that is too low', feed('oldest_sequence = 0'), NUMBERS],
  [
    'a later beginning of what is kept',
    feed('kept_since = kept_since + INTERVAL 1 YEAR'),
    'kept for at least four days',
  ],
  ['no position of the announcements', "DELETE FROM event_sweeps WHERE kind = 'expiring'", 'are announced'],
  [
    'announcements that are skipped',
    "UPDATE event_sweeps SET done_until = done_until + INTERVAL 2 YEAR WHERE kind = 'expiring' AND merchant_id = ''",
    'earlier than a week',
  ],
  ['an ID without an instant', event('order.cancelled', 'cancelled', `id = ${UNKNOWN}`), SUBJECTS],
  ['no feed', 'DELETE FROM event_feeds WHERE merchant_id = {merchant.id}', NUMBERS],
  ['a numbered event that still waits', copied('order.cancelled', 'cancelled', 'id'), VERSIONS],
  ['an event that waits twice', WAITS_TWICE, VERSIONS],
  [
    'a waiting event that is deleted',
    "DELETE FROM event_outbox WHERE subject_id = {waiting.order} AND type = 'order.completed'",
    VERSIONS,
  ],
];

export const FEED_EDITS: FeedEdit[] = [...OF_EACH_TYPE, ...BY_OTHERS, ...OF_ORDER, ...OF_WALLET, ...OF_FEED];
