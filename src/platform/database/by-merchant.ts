/**
 * The comment of a statement that reads the money of all merchants: for the sweeps, `reconcile` and the operator. Every
 * other statement on the money names its merchant, so that no request reads another one's rows, and merchants can be
 * moved to databases of their own. A test checks it.
 */
export const ALL_MERCHANTS = 'all merchants';

/**
 * The condition for the merchants of a sweep: one whose clock a sandbox moves, or all whose clocks run. It is in the
 * statement, because a filter after its LIMIT would let those that stand still keep the others waiting.
 */
export const sweptMerchants = (merchantId: string | undefined): [condition: string, parameters: string[]] =>
  merchantId === undefined
    ? ['merchant_id NOT IN (SELECT merchant_id FROM sandbox_clocks WHERE stands_at IS NOT NULL)', []]
    : ['merchant_id = ?', [merchantId]];

/** The time of the merchant of a row: that of its clock if it stands still, otherwise the parameter `:now`. */
export const nowOf = (merchantColumn: string): string =>
  `COALESCE((SELECT stands_at FROM sandbox_clocks c WHERE c.merchant_id = ${merchantColumn}), CAST(:now AS DATETIME(3)))`;

/** Groups keys by merchant, because a sharded database can split a statement that names each merchant once. */
export function byMerchant<Key extends { merchantId: string }, Value>(
  keys: readonly Key[],
  valueOf: (key: Key) => Value,
): [merchantId: string, values: Value[]][] {
  const groups = new Map<string, Set<Value>>();
  for (const key of keys) groups.set(key.merchantId, (groups.get(key.merchantId) ?? new Set()).add(valueOf(key)));
  return Array.from(groups, ([merchantId, values]) => [merchantId, [...values]]);
}

/**
 * Returns the condition that rows have one of these values in a column, each for its merchant, with its parameters. The
 * keys must not be empty.
 *
 * @param column with the table's alias, if it has one.
 */
export function inColumn<Key extends { merchantId: string }, Value>(
  column: string,
  keys: readonly Key[],
  valueOf: (key: Key) => Value,
): [condition: string, parameters: unknown[]] {
  const groups = byMerchant(keys, valueOf);
  const merchant = column.replace(/\w+$/, 'merchant_id');
  return [`(${anyOf(groups.length, `${merchant} = ? AND ${column} IN (?)`)})`, groups.flat()];
}

export const anyOf = (groups: number, condition: string): string => Array(groups).fill(`(${condition})`).join(' OR ');
