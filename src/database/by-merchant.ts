/**
 * The comment of a statement that reads the money of all merchants: for the sweeps, `reconcile` and the operator. Every
 * other statement on the money names its merchant, so that the tables can be partitioned by it. A test checks it.
 */
export const ALL_MERCHANTS = 'all merchants';

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
