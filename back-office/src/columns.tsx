import type { By } from '@cashback/client';
import type { ComponentChildren } from 'preact';
import { count, documentText, t } from './format.js';
import { address } from './hooks.js';
import type { Column } from './table.js';
import { by, Day, Money, When } from './ui.js';

// The columns that many tables have. A table reads as what it shows.

type Of<T, V> = (row: T) => V;

/** @param isLead whether it is one of the two facts that come first on a phone */
export const amount = <T,>(head: string, of: Of<T, string>, isLead = false): Column<T> => ({
  ...{ head, isNumber: true, isLead },
  cell: (row) => <Money of={of(row)} />,
});
export const when = <T,>(of: Of<T, string | null>, head: string = t.field.date): Column<T> => ({
  head,
  cell: (row) => {
    const at = of(row);
    return at === null ? '–' : <When at={at} />;
  },
});
export const onDay = <T,>(head: string, of: Of<T, string>): Column<T> => ({
  head,
  cell: (row) => <Day of={of(row)} />,
});
export const who = <T,>(of: Of<T, By | null>, isLead = false): Column<T> => ({
  ...{ head: t.field.by, isLead },
  cell: (row) => by(of(row)),
});
export const text = <T,>(head: string, of: Of<T, string | null | undefined>, isLead = false): Column<T> => ({
  ...{ head, isLead },
  cell: (row) => of(row) ?? '–',
});
export const store: Column<{ store: string | null }> = text(t.field.store, (row) => row.store);
export const reason: Column<{ reason: string | null }> = text(t.field.reason, (row) => row.reason);
export const note: Column<{ note?: string | null }> = text(t.grant.note, (row) => row.note);

interface OfWallet {
  wallet_id: string;
  document: string;
}

/** In lists over all customers; an address has no document. @param hrefOf where a row leads */
export const customerAt = <T extends OfWallet>(hrefOf: Of<T, string>): Column<T> => ({
  ...{ head: t.field.document, isLead: true },
  cell: (row) => (
    <a class="document" href={hrefOf(row)}>
      {documentText(row.document)}
    </a>
  ),
});
export const customer: Column<OfWallet> = customerAt(({ wallet_id }) => address(`customer/${wallet_id}`));

/** What can be done with a row: on a phone, buttons have the whole width. */
export const actions = <T,>(of: Of<T, ComponentChildren>): Column<T> => ({
  ...{ head: t.users.actions, isActions: true },
  cell: of,
});

export const OrderLink = ({ id, number }: { id: string; number: string | null }): ComponentChildren => (
  <a href={address(`order/${id}`)}>{number}</a>
);

/** A number that leads to what it counts. @param isLeast whether there may be more */
export function counted(number: number, href?: string, isLeast = false): ComponentChildren {
  const shown = `${count(number)}${isLeast ? '+' : ''}`;
  if (number === 0 && !isLeast) return '–';
  return href === undefined ? shown : <a href={href}>{shown}</a>;
}
