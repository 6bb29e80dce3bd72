import type { Order, Wallet } from '@cashback/client';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isDocument } from '../../../src/platform/values/document.js';
import { OrderLink } from '../columns.js';
import { documentText, longDay, money, t } from '../format.js';
import { address, firstPage, type Loaded, useLoad } from '../hooks.js';
import { documentOfUnknown, remember } from '../search.js';
import { cashback, type Session } from '../session.js';
import { Await, by, Copy, Document, Heading, Money, OrderBadge, Tabs, Tile, When } from '../ui.js';
import { Correct, Debit, Erase, Export, Freeze, Grant, type OfCustomer, PrivacyHint } from './customer-actions.js';
import { Credits, Notes, Orders, Statement } from './customer-lists.js';

const canSeeOrders = (session: Session): boolean => session.can('sell') || session.can('reports');

export function Customer({ id, more, session }: { id: string; more: string[]; session: Session }): JSX.Element {
  // A customer without a wallet has no ID, only a number here.
  const isNew = id === 'new';
  const [tab = ''] = more.slice(isNew ? 1 : 0);
  const document = isNew ? documentOfUnknown(session, more[0] ?? '') : undefined;
  const wallet = useLoad(
    (signal) => (document ? cashback.wallets.search({ document }, { signal }) : cashback.wallets.get(id, { signal })),
    [id, document],
  );
  const [version, changed] = useState(0);
  const reload = (): void => {
    wallet.reload();
    changed(version + 1);
  };
  const { data } = wallet;
  useEffect(() => {
    if (data?.id) remember(address(`customer/${data.id}`), documentText(data.document));
  }, [data?.id]);
  return (
    <>
      <Heading title={t.customer.title}>{data && <Document of={data.document} />}</Heading>
      <Await of={wallet} lines={12}>
        {(shown) => (
          <>
            <Sheet wallet={shown} version={version} session={session} onChange={reload} />
            <Lists
              wallet={shown}
              version={version}
              session={session}
              onChange={reload}
              tab={tab}
              base={isNew ? `customer/new/${more[0] ?? ''}` : `customer/${id}`}
            />
          </>
        )}
      </Await>
    </>
  );
}

/** What to say to the customer who calls. */
function answerOf({ available, pending, frozen, next_release, next_expiry, held, debt }: Wallet): string {
  const has = (amount: string): boolean => amount !== '0.00';
  const { answer } = t.customer;
  // All of it has one last day.
  const isOne = next_expiry !== null && next_expiry.amount === available;
  return [
    frozen
      ? answer.frozen(money(available))
      : isOne
        ? answer.through(money(available), longDay(next_expiry.expires_on))
        : has(available)
          ? answer.available(money(available))
          : answer.nothing,
    next_release &&
      answer.release(
        money(next_release.amount),
        longDay(next_release.available_on),
        pending === next_release.amount ? null : money(pending),
      ),
    next_expiry && !isOne && answer.expiry(money(next_expiry.amount), longDay(next_expiry.expires_on)),
    has(held) && answer.held(money(held)),
    has(debt) && answer.debt(money(debt)),
  ]
    .filter((part) => typeof part === 'string')
    .join('; ')
    .concat('.');
}

/** What support needs while the customer is on the phone. */
function Sheet(props: OfCustomer): JSX.Element {
  const { wallet, session, version } = props;
  const isKnown = isDocument(wallet.document);
  const answer = answerOf(wallet);
  const orders = useLoad(
    (signal) =>
      isKnown && canSeeOrders(session)
        ? firstPage(cashback.orders.search({ document: wallet.document, limit: 3 }, { signal }))
        : Promise.resolve(null),
    [wallet.document, version],
  );
  return (
    <>
      {wallet.frozen && (
        <p class="warning">
          {t.freeze.is} {wallet.freeze_changed_at && <When at={wallet.freeze_changed_at} />},{' '}
          {by(wallet.freeze_changed_by)}: {wallet.freeze_reason}
        </p>
      )}
      {isKnown && (
        <blockquote>
          <p>{answer}</p> <Copy text={answer} />
        </blockquote>
      )}
      {isKnown && <Actions {...props} orders={orders} />}
      <div class="columns">
        <dl class="tiles">
          <Tile name={t.customer.available} shown={<Money of={wallet.available} />} />
          {(['pending', 'held', 'debt'] as const).map(
            (name) =>
              wallet[name] !== '0.00' && (
                <Tile key={name} name={t.customer[name]} shown={<Money of={wallet[name]} />}>
                  {t.customer.hints[name]}
                </Tile>
              ),
          )}
        </dl>
        <Await of={orders} lines={3}>
          {(page) => page && page.data.length > 0 && <LastOrders orders={page.data} />}
        </Await>
      </div>
    </>
  );
}

const LastOrders = ({ orders }: { orders: Order[] }): JSX.Element => (
  <div class="tile">
    <p class="soft">{t.customer.lastOrders}</p>
    <ul class="rows">
      {orders.map(({ id, external_id, status, created_at, total }) => (
        <li key={id}>
          <span>
            <OrderLink id={id} number={external_id} />{' '}
            <small>
              <When at={created_at} />
            </small>
          </span>
          <OrderBadge status={status} />
          <Money of={total} />
        </li>
      ))}
    </ul>
  </div>
);

function Actions(props: OfCustomer & { orders: Loaded<{ data: Order[] } | null> }): JSX.Element {
  const { session } = props;
  return (
    <p class="buttons actions">
      {session.can('grants') && <Grant {...props} isPrimary label={t.grant.button} />}
      {session.can('debits') && <Debit {...props} />}
      {session.can('customers') && props.wallet.id && <Freeze {...props} />}
      {session.can('customers') && <Correct orders={props.orders.data?.data ?? []} />}
      {session.can('privacy') ? (
        <>
          <Export {...props} />
          <Erase {...props} />
        </>
      ) : (
        (session.can('grants') || session.can('customers')) && <PrivacyHint />
      )}
    </p>
  );
}

function Lists(props: OfCustomer & { tab: string; base: string }): JSX.Element {
  const { wallet, session, tab, base } = props;
  const hasOrders = isDocument(wallet.document) && canSeeOrders(session);
  const names = t.customer.tabs;
  const tabs: [string, string][] = [
    ...(hasOrders ? ([['', names.orders]] as [string, string][]) : []),
    [hasOrders ? 'credits' : '', names.credits],
    ['statement', names.statement],
    ['notes', names.notes],
  ];
  const at = tabs.some(([path]) => path === tab) ? tab : '';
  const shown = at === '' && !hasOrders ? 'credits' : at;
  return (
    <div class="stack">
      <Tabs label={t.customer.title} base={base} at={at} tabs={tabs} />
      {shown === '' && <Orders {...props} />}
      {shown === 'credits' && <Credits {...props} />}
      {shown === 'statement' && <Statement {...props} />}
      {shown === 'notes' && <Notes {...props} />}
    </div>
  );
}
