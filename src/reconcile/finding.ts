/** A rule of the money that some rows break, with those rows' own figures. */
export interface Finding {
  invariant: string;
  [figure: string]: unknown;
}

/** Rules as SQL by their titles: each query returns the rows of a page that break its rule. */
export type SqlChecks = Readonly<Record<string, string>>;

/** A page: the wallets or orders with ids after `after` and up to `upto`, and all rows that name such an id. */
export interface Page {
  after: string;
  upto: string;
}

/** No id is greater: the last page ends here, so that it has the rows of owners that do not exist, too. */
export const LAST_ID = '~';

/** Returns the condition that a column with ids of wallets or orders belongs to the page. */
export const inPage = (column: string): string => `${column} > :after AND ${column} <= :upto`;

/** How far the clocks of instances may be apart. What two of them dated is compared with this margin. */
export const CLOCK_MARGIN = 'INTERVAL 1 MINUTE';
