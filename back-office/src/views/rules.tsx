import type { Policy } from '@cashback/client';
import type { JSX } from 'preact';
import { day, money, percent, t } from '../format.js';
import { useLoad } from '../hooks.js';
import { cashback } from '../session.js';
import { Await } from '../ui.js';

/** Each rule that is set, as a sentence. */
const sentences = (rules: Partial<Policy>): string[] =>
  [
    rules.earn_rate && t.rules.earnRate(percent(rules.earn_rate)),
    ...Object.entries(rules.earn_rates_by_payment_method ?? {}).map(([id, rate]) =>
      t.rules.earnRateOf(t.paymentMethod[id] ?? id, percent(rate)),
    ),
    rules.earn_minimum_total &&
      rules.earn_minimum_total !== '0.00' &&
      t.rules.earnMinimum(money(rules.earn_minimum_total)),
    rules.earn_maximum && t.rules.earnMaximum(money(rules.earn_maximum)),
    rules.earn_rate_maximum && t.rules.earnRateMaximum(percent(rules.earn_rate_maximum)),
    rules.redeem_share && t.rules.redeemShare(percent(rules.redeem_share)),
    rules.redeem_minimum_total &&
      rules.redeem_minimum_total !== '0.00' &&
      t.rules.redeemMinimumTotal(money(rules.redeem_minimum_total)),
    rules.redeem_minimum && rules.redeem_minimum !== '0.00' && t.rules.redeemMinimum(money(rules.redeem_minimum)),
    rules.release_days !== undefined && t.rules.releaseDays(rules.release_days),
    rules.validity_days !== undefined && t.rules.validityDays(rules.validity_days),
    rules.order_ttl_minutes !== undefined && t.rules.orderTtl(rules.order_ttl_minutes),
    rules.grant_maximum && t.rules.grantMaximum(money(rules.grant_maximum)),
    rules.grant_daily_maximum && t.rules.grantDailyMaximum(money(rules.grant_daily_maximum)),
    rules.time_zone && t.rules.timeZone(rules.time_zone),
  ].filter((sentence) => typeof sentence === 'string');

const Sentences = ({ of }: { of: Partial<Policy> }): JSX.Element => (
  <ul>
    {sentences(of).map((sentence) => (
      <li key={sentence}>{sentence}</li>
    ))}
  </ul>
);

export function Rules(): JSX.Element {
  const policy = useLoad((signal) => cashback.policy.get({ signal }), []);
  return (
    <>
      <h1>{t.rules.title}</h1>
      <p class="empty">{t.rules.text}</p>
      <Await of={policy} lines={10}>
        {({ upcoming, ...rules }) => (
          <>
            <Sentences of={rules} />
            <h2>{t.rules.upcoming}</h2>
            {upcoming.length === 0 && <p class="empty">{t.nothing}</p>}
            {upcoming.map(({ from, through, changes }) => (
              <section key={from}>
                <h3>{t.rules.period(day(from), day(through))}</h3>
                <Sentences of={changes as Partial<Policy>} />
              </section>
            ))}
          </>
        )}
      </Await>
    </>
  );
}
