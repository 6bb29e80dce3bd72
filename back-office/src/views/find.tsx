import { CashbackError } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hasValidCheckDigits, isDocument } from '../../../src/platform/values/document.js';
import { documentOf, t } from '../format.js';
import { firstPage, go, useSubmit } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Problem } from '../ui.js';

/** Without what the service does not know, or nothing can have. */
const found = <T,>(answer: Promise<T>): Promise<T | null> =>
  answer.catch((error: unknown) => {
    if (error instanceof CashbackError && [400, 404].includes(error.status)) return null;
    throw error;
  });

/** The documents of customers without a wallet, who have no ID for the address; each only for the user who looked. */
const unknownCustomers = new Map<string, string>();

const keyOf = ({ me }: Session, number: string): string => `${me.user_id} ${number}`;

/** @param number what the address has of the customer */
export const documentOfUnknown = (session: Session, number: string): string | undefined =>
  unknownCustomers.get(keyOf(session, number));

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Opens what a text names. @returns whether there is such a thing */
export async function find(text: string, session: Session): Promise<boolean> {
  const document = documentOf(text);
  // What is in the address of a request may be logged somewhere, so no CPF or CNPJ is. Order numbers look like them.
  if (hasValidCheckDigits(document) && !UUID.test(text)) return openCustomer(document, session);
  const order =
    (await found(cashback.orders.byExternalId(text))) ??
    (text === text.toUpperCase() ? null : await found(cashback.orders.byExternalId(text.toUpperCase())));
  if (order) return (go('order', order.id), true);
  if (isDocument(document)) return (await found(openCustomer(document, session))) ?? false;
  if (!UUID.test(text)) return false;
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

async function openCustomer(document: string, session: Session): Promise<boolean> {
  const wallet = await cashback.wallets.search({ document });
  if (wallet.id) return (go('customer', wallet.id), true);
  if (session.can('sell') || session.can('reports')) {
    const orders = await firstPage(cashback.orders.search({ document, limit: 1 }));
    if (orders.data.length === 0) return false;
  }
  return openNew(document, session);
}

/** Opens a customer whom the service may not know yet, for example for a first grant. */
function openNew(document: string, session: Session): boolean {
  const number = String(unknownCustomers.size);
  unknownCustomers.set(keyOf(session, number), document);
  return (go('customer', 'new', number), true);
}

export function Find({ session }: { session: Session }): JSX.Element {
  const [missing, setMissing] = useState<string>();
  const { error, submit } = useSubmit(async ({ what = '' }) => {
    setMissing(undefined);
    if (!(await find(what, session))) setMissing(documentOf(what));
  });
  return (
    <>
      <h1>{t.find.title}</h1>
      <form class="find" role="search" onSubmit={submit}>
        <label for="what">{t.find.label}</label>
        <input id="what" name="what" type="search" autocomplete="off" autofocus required />
        <button class="primary">{t.find.button}</button>
      </form>
      {missing !== undefined && (
        <p role="status">
          {isDocument(missing) ? t.find.noCustomer : t.find.nothing}{' '}
          {isDocument(missing) && !hasValidCheckDigits(missing) && t.correct.digits}{' '}
          {isDocument(missing) && session.can('grants') && (
            <button onClick={() => openNew(missing, session)}>{t.find.openNew}</button>
          )}
        </p>
      )}
      {error !== undefined && <Problem error={error} />}
      <p class="empty">{t.find.hint}</p>
    </>
  );
}
