import type { CustomerCredit } from '@cashback/client';
import type { JSX } from 'preact';
import { amount, customer, onDay, store, text } from '../columns.js';
import { addDays, dayFromToday, t } from '../format.js';
import { address, useLoad } from '../hooks.js';
import { seen } from '../search.js';
import { cashback, type Session } from '../session.js';
import { type Column, PagedTable } from '../table.js';
import { Await, Heading, Money, Section, Tile } from '../ui.js';
import { Figures } from './figures.js';

export function Home({ session }: { session: Session }): JSX.Element {
  return (
    <>
      <Heading title={t.home.title} />
      {session.can('reports') ? <Overview /> : <Beginning />}
    </>
  );
}

/** For those who only serve customers: what they looked at, and where to begin. */
const Beginning = (): JSX.Element => (
  <>
    <p>
      {t.home.begin} <span class="only-hover">{t.home.key}</span>
    </p>
    <p>
      <button class="primary" onClick={() => document.querySelector<HTMLElement>('.search input')?.focus()}>
        {t.home.search}
      </button>
    </p>
    {seen().length > 0 && (
      <Section title={t.home.seen}>
        <ul>
          {seen().map(({ href, label }) => (
            <li key={href}>
              <a href={href}>{label}</a>
            </li>
          ))}
        </ul>
      </Section>
    )}
  </>
);

/** What the merchant owes, how the last days went, and what expires next. */
function Overview(): JSX.Element {
  const today = dayFromToday(0);
  const owed = useLoad((signal) => cashback.reports.outstanding({}, { signal }), [today]);
  return (
    <>
      <Await of={owed} lines={3}>
        {({ total }) => (
          <dl class="tiles">
            <Tile name={t.home.owed} shown={<Money of={total.balance} />}>
              {total.debt !== '0.00' && t.home.owedHint}
            </Tile>
            {total.available && <Tile name={t.customer.available} shown={<Money of={total.available} />} />}
            {total.pending && <Tile name={t.customer.pending} shown={<Money of={total.pending} />} />}
            {total.held && <Tile name={t.customer.held} shown={<Money of={total.held} />} />}
            {total.expiring_in_30_days && (
              <Tile
                name={t.home.expiring30}
                shown={<Money of={total.expiring_in_30_days} />}
                href={address('list/credits', { expires_from: today, expires_to: addDays(today, 30) })}
              >
                {total.held !== '0.00' && t.home.expiring30Hint}
              </Tile>
            )}
            <Tile name={t.customer.debt} shown={<Money of={total.debt} />} />
          </dl>
        )}
      </Await>
      <Section
        title={t.home.days}
        actions={
          <a class="button" href={address('sales')}>
            {t.home.openSales}
          </a>
        }
      >
        <Figures from={dayFromToday(-29)} to={dayFromToday(1)} />
      </Section>
      <Section
        title={t.home.expiring}
        actions={
          <a
            class="button"
            href={address('list/entries', {
              kind: 'expire',
              created_from: addDays(today, -6),
              created_to: addDays(today, 1),
            })}
          >
            {t.home.expired}
          </a>
        }
      >
        <PagedTable
          caption={t.home.expiring}
          columns={creditColumns}
          list={(signal) => cashback.credits.list({ expires_from: today, expires_to: addDays(today, 7) }, { signal })}
          on={[today]}
          empty={t.home.noExpiring}
        />
      </Section>
    </>
  );
}

const creditColumns: Column<CustomerCredit>[] = [
  onDay(t.customer.expiresOn, ({ expires_on }) => expires_on),
  customer,
  text(t.entry.source, ({ source }) => source.reason ?? source.external_id),
  store,
  amount(t.customer.remaining, ({ remaining }) => remaining, true),
];
