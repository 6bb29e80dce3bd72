import type { Policy } from '@cashback/client';
import type { JSX } from 'preact';
import { day, money, percent, t, fullDay } from '../format.js';
import { useLoad } from '../hooks.js';
import { cashback } from '../session.js';
import { Await, Heading } from '../ui.js';

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

/** The rules without the campaign, as far as they differ; a method that only the campaign has earns the base rate. */
function normally(base: Policy, rules: Policy): Partial<Policy> {
  const methods = Object.keys(rules.earn_rates_by_payment_method);
  const rates = Object.fromEntries(methods.map((id) => [id, base.earn_rate]));
  const all = { ...base, earn_rates_by_payment_method: { ...rates, ...base.earn_rates_by_payment_method } };
  const differs = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(rules[name as keyof Policy]);
  return Object.fromEntries(Object.entries(all).filter(differs));
}

export function Rules(): JSX.Element {
  const policy = useLoad((signal) => cashback.policy.get({ signal }), []);
  return (
    <>
      <Heading title={t.rules.title} />
      <p class="soft">{t.rules.text}</p>
      <Await of={policy} lines={10}>
        {({ upcoming, campaign, base, ...rules }) => (
          <>
            {campaign && <p>{t.rules.campaign(fullDay(campaign.through))}</p>}
            <Sentences of={rules} />
            {campaign && (
              <section>
                <h2>{t.rules.base}</h2>
                <Sentences of={normally(base, rules)} />
              </section>
            )}
            <h2>{t.rules.upcoming}</h2>
            {upcoming.length === 0 && <p class="soft">{t.nothing}</p>}
            {upcoming.map(({ id, name, from, through, rules: ofDays }) => (
              <section key={id}>
                <h3>{t.rules.period(name, day(from), day(through))}</h3>
                <Sentences of={ofDays as Partial<Policy>} />
              </section>
            ))}
          </>
        )}
      </Await>
    </>
  );
}

export const rules = (): JSX.Element => <Rules />;
