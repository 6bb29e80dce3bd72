import { CashbackError, type Order } from '@cashback/client';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hasValidCheckDigits, isDocument } from '../../src/platform/values/document.js';
import { documentOf, money, t } from './format.js';
import { address, firstPage, useSubmit } from './hooks.js';
import { Icon } from './icons.js';
import { cashback, type Session } from './session.js';
import { OrderBadge, Problem } from './ui.js';

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

/** Without characters that nobody sees, which come with what is pasted. */
const visible = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .trim();

/** @returns the address of what a text names; null if there is no such thing */
export async function find(text: string, session: Session): Promise<string | null> {
  const name = visible(text);
  const document = documentOf(name);
  // What is in the address of a request may be logged somewhere, so no CPF or CNPJ is. Order numbers look like them.
  const isCertain = hasValidCheckDigits(document);
  if (isDocument(document) && !UUID.test(name)) {
    const customer = await findCustomer(document, session, isCertain);
    if (customer !== null || isCertain) return customer;
  }
  const order = await findOrder(name);
  if (order) return address(`order/${order.id}`);
  if (!UUID.test(name)) return null;
  const [byId, wallet, grant, debit] = await Promise.all([
    found(cashback.orders.get(name)),
    found(cashback.wallets.get(name)),
    found(cashback.grants.get(name)),
    found(cashback.debits.get(name)),
  ]);
  if (byId) return address(`order/${byId.id}`);
  const walletId = wallet?.id ?? grant?.wallet_id ?? debit?.wallet_id;
  return walletId ? address(`customer/${walletId}`) : null;
}

async function findOrder(number: string): Promise<Order | null> {
  const upper = number.toUpperCase();
  const asTyped = await found(cashback.orders.byExternalId(number));
  return asTyped ?? (number === upper ? null : found(cashback.orders.byExternalId(upper)));
}

async function findCustomer(document: string, session: Session, isCertain: boolean): Promise<string | null> {
  const request = cashback.wallets.search({ document });
  const wallet = await (isCertain ? request : found(request));
  if (!wallet) return null;
  if (wallet.id) return address(`customer/${wallet.id}`);
  if (session.can('sell') || session.can('reports')) {
    const orders = await firstPage(cashback.orders.search({ document, limit: 1 }));
    if (orders.data.length === 0) return null;
  } else if (!isCertain) return null;
  return addressOfNew(document, session);
}

/** @returns the address of a customer whom the service may not know yet, for example for a first grant */
function addressOfNew(document: string, session: Session): string {
  const number = String(unknownCustomers.size);
  unknownCustomers.set(keyOf(session, number), document);
  return address(`customer/new/${number}`);
}

interface Seen {
  href: string;
  label: string;
}

const SEEN = 'seen';
export const seen = (): Seen[] => JSON.parse(sessionStorage.getItem(SEEN) ?? '[]') as Seen[];

/** Keeps what somebody looked at. @param label without a whole document: it stays in the storage of the tab */
export function remember(href: string, label: string): void {
  const others = seen().filter((one) => one.href !== href);
  sessionStorage.setItem(SEEN, JSON.stringify([{ href, label }, ...others].slice(0, 5)));
}

/** Whether a text that is not complete yet may be sent in an address: one with a letter is no part of a CPF. */
const isOrderNumber = (text: string): boolean =>
  text.length > 2 && /\p{L}/u.test(text) && !isDocument(documentOf(text)) && !hasValidCheckDigits(documentOf(text));

/** The order of a number, while that is being typed. */
function useHit(text: string): Order | null {
  const [hit, setHit] = useState<Order | null>(null);
  useEffect(() => {
    setHit(null);
    if (!isOrderNumber(text)) return;
    let isCurrent = true;
    const look = (): void =>
      void findOrder(text).then(
        (order) => isCurrent && setHit(order),
        () => undefined,
      );
    const timer = setTimeout(look, 250);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  return hit;
}

/** `/` and Ctrl+K begin a search from everywhere but other fields and dialogs. */
function useShortcuts(begin: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isTyping = (event.target as Element).matches('input, select, textarea');
      const isShortcut = event.key === '/' ? !isTyping : event.key === 'k' && (event.ctrlKey || event.metaKey);
      if (!isShortcut || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      begin();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

/** The arrow keys go through the hits below the field; Escape leaves. */
function walk(event: KeyboardEvent): void {
  const form = event.currentTarget as HTMLElement;
  if (event.key === 'Escape') (document.activeElement as HTMLElement | null)?.blur();
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  const stops = [...form.querySelectorAll<HTMLElement>('input, .hits a, .hits button')];
  const next = stops.indexOf(document.activeElement as HTMLElement) + (event.key === 'ArrowDown' ? 1 : -1);
  stops[(next + stops.length) % stops.length]?.focus();
}

export function Search({ session }: { session: Session }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [missing, setMissing] = useState<string>();
  const [recent, setRecent] = useState(seen);
  const hit = useHit(visible(text));
  useShortcuts(() => input.current?.select());
  useEffect(() => {
    const clear = (): void => {
      setText('');
      setMissing(undefined);
    };
    addEventListener('hashchange', clear);
    return () => removeEventListener('hashchange', clear);
  }, []);
  const open = (href: string): void => {
    setText('');
    (document.activeElement as HTMLElement | null)?.blur();
    location.hash = href;
  };
  const { error, isBusy, submit } = useSubmit(async ({ what = '' }) => {
    setMissing(undefined);
    const href = await find(what, session);
    if (href === null) setMissing(documentOf(what));
    else open(href);
  });
  return (
    <form class="search" role="search" onSubmit={submit} onKeyDown={walk}>
      <input
        ref={input}
        name="what"
        type="search"
        aria-label={t.find.label}
        aria-describedby="search-hits"
        placeholder={t.find.short}
        title={t.find.label}
        autocomplete="off"
        required
        value={text}
        onFocus={() => setRecent(seen())}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setMissing(undefined);
        }}
      />
      <Icon name="search" />
      <kbd aria-hidden="true">/</kbd>
      <div class="hits" id="search-hits">
        {isBusy && <p role="status">{t.loading}</p>}
        {error !== undefined && !isBusy && <Problem error={error} />}
        {missing !== undefined && <Missing document={missing} session={session} open={open} />}
        {hit && (
          <a href={address(`order/${hit.id}`)} onClick={() => open(address(`order/${hit.id}`))}>
            <span>
              {hit.external_id} · {money(hit.total)}
            </span>
            <OrderBadge status={hit.status} />
          </a>
        )}
        {(text === '' ? recent : []).map(({ href, label }) => (
          <a key={href} href={href} onClick={() => open(href)}>
            {label}
          </a>
        ))}
        {missing === undefined && <small>{t.find.hint}</small>}
      </div>
    </form>
  );
}

/** Why nothing was found, and what can be done with a document that nobody knows. */
const Missing = (props: { document: string; session: Session; open: (href: string) => void }): JSX.Element => {
  const { document, session, open } = props;
  const isCustomer = isDocument(document);
  return (
    <>
      <p role="status">
        {isCustomer ? t.find.noCustomer : t.find.nothing}{' '}
        {isCustomer && !hasValidCheckDigits(document) && t.correct.digits}
      </p>
      {isCustomer && session.can('grants') && (
        <button type="button" onClick={() => open(addressOfNew(document, session))}>
          {t.find.openNew}
        </button>
      )}
    </>
  );
};
