/**
 * The comment of a statement that reads the money of all merchants: for the sweeps, `reconcile` and the operator. Every
 * other statement on the money names its merchant, so that the tables can be partitioned by it. A test checks it.
 */
export const ALL_MERCHANTS = 'all merchants';
