import { CashbackError } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { documentOf, isDocument, t } from '../format.js';
import { firstPage, go, useSubmit } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Problem } from '../ui.js';

/** Without what the service does not know. */
const found = <T,>(answer: Promise<T>): Promise<T | null> =>
  answer.catch((error: unknown) => {
    if (error instanceof CashbackError && error.status === 404) return null;
    throw error;
  });

/** The documents of customers without a wallet, who have no ID for the address. */
export const unknownCustomers: Record<string, string> = {};

/** Opens what a text names. @returns whether there is such a thing */
export async function find(text: string, { can }: Session): Promise<boolean> {
  const document = documentOf(text);
  if (isDocument(document)) return openCustomer(document, can('sell') || can('reports'));
  const order = await found(cashback.orders.byExternalId(text));
  if (order) return (go('order', order.id), true);
  if (!/^[0-9a-f-]{36}$/i.test(text)) return false;
  const [byId, wallet, grant] = await Promise.all([
    found(cashback.orders.get(text)),
    found(cashback.wallets.get(text)),
    found(cashback.grants.get(text)),
  ]);
  if (byId) return (go('order', byId.id), true);
  const walletId = wallet?.id ?? grant?.wallet_id;
  if (walletId) return (go('customer', walletId), true);
  return false;
}

async function openCustomer(document: string, canList: boolean): Promise<boolean> {
  const wallet = await cashback.wallets.search({ document });
  if (wallet.id) return (go('customer', wallet.id), true);
  if (canList) {
    const orders = await firstPage(cashback.orders.search({ document, limit: 1 }));
    if (orders.data.length === 0) return false;
  }
  const key = String(Object.keys(unknownCustomers).length);
  unknownCustomers[key] = document;
  return (go('customer', 'new', key), true);
}

export function Find({ session }: { session: Session }): JSX.Element {
  const [missing, setMissing] = useState<string>();
  const { error, submit } = useSubmit(async ({ what = '' }) => {
    setMissing(undefined);
    if (!(await find(what, session))) setMissing(isDocument(documentOf(what)) ? t.find.noCustomer : t.find.nothing);
  });
  return (
    <>
      <h1>{t.find.title}</h1>
      <form class="find" role="search" onSubmit={submit}>
        <label for="what">{t.find.label}</label>
        <input id="what" name="what" type="search" autocomplete="off" autofocus required />
        <button class="primary">{t.find.button}</button>
      </form>
      {missing && <p role="status">{missing}</p>}
      {error !== undefined && <Problem error={error} />}
      <p class="empty">{t.find.hint}</p>
    </>
  );
}
