import type { CurrentPolicy, Policy, PolicyVersion, RulesSet } from '@cashback/client';
import type { JSX } from 'preact';
import { Action, Field } from '../form.js';
import { fullDay, percent, period, t } from '../format.js';
import { address, all, type Paged, useLoad } from '../hooks.js';
import { changedRules, changes, isOperators, RuleFields, Sentences } from '../rules.js';
import { cashback, type Session } from '../session.js';
import { type Column, PagedTable, Table } from '../table.js';
import { Await, by, Head, InputError, Section, When } from '../ui.js';

/** Some of the rules: those of the operator, or all others. */
const only = (rules: Policy, ofOperator: boolean): RulesSet =>
  Object.fromEntries(Object.entries(rules).filter(([name]) => isOperators(name) === ofOperator));

/** The rules without the campaign, as far as they differ; a method that only the campaign has earns the base rate. */
function normally(base: Policy, rules: Policy): RulesSet {
  const methods = Object.keys(rules.earn_rates_by_payment_method);
  const rates = Object.fromEntries(methods.map((id) => [id, base.earn_rate]));
  const all = { ...base, earn_rates_by_payment_method: { ...rates, ...base.earn_rates_by_payment_method } };
  const differs = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(rules[name as keyof Policy]);
  return Object.fromEntries(Object.entries(all).filter(differs));
}

function Rules({ session }: { session: Session }): JSX.Element {
  const policy = useLoad((signal) => cashback.policy.get({ signal }), []);
  return (
    <>
      <Head title={t.rules.title} text={t.rules.text}>
        {policy.data && session.can('rules') && <Change policy={policy.data} onDone={policy.reload} />}
      </Head>
      <Await of={policy} lines={10}>
        {(rules) => (
          <>
            <Now of={rules} />
            <Section title={t.rules.history}>
              <PagedTable caption={t.rules.history} columns={versionColumns} list={versions} on={[rules.version]} />
            </Section>
          </>
        )}
      </Await>
    </>
  );
}

/** What holds and why, with what holds otherwise beside it. */
function Now({ of }: { of: CurrentPolicy }): JSX.Element {
  const { version: _, upcoming, campaign, base, ...rules } = of;
  const [next] = upcoming;
  return (
    <div class="columns">
      <section class="card" aria-labelledby="now">
        <h2 id="now">{campaign ? t.rules.inCampaign : t.rules.now}</h2>
        {campaign && (
          <p>
            <a href={address(`campaigns/${campaign.id}`)}>{campaign.name}</a>{' '}
            {t.rules.through(fullDay(campaign.through))}
          </p>
        )}
        <Sentences of={only(rules, false)} />
        {!campaign && (
          <p class="soft">
            {t.rules.noCampaign}{' '}
            {next && (
              <>
                {t.rules.next} <a href={address(`campaigns/${next.id}`)}>{next.name}</a>{' '}
                {`(${period(next.from, next.through)})`}
              </>
            )}
          </p>
        )}
      </section>
      <div class="stack">
        {campaign && (
          <section class="card" aria-labelledby="base">
            <h2 id="base">{t.rules.base}</h2>
            <Sentences of={normally(base, rules)} />
            <p class="soft">{t.rules.same}</p>
          </section>
        )}
        <section class="card" aria-labelledby="operators">
          <h2 id="operators">{t.rules.operators}</h2>
          <Sentences of={only(rules, true)} />
          <p class="soft">{t.rules.ceilings(percent(rules.earn_rate_ceiling), percent(rules.redeem_share_ceiling))}</p>
        </section>
      </div>
    </div>
  );
}

function Change({ policy, onDone }: { policy: CurrentPolicy; onDone: () => void }): JSX.Element {
  const { base, version } = policy;
  return (
    <Action
      label={t.rules.change}
      isPrimary
      onDone={onDone}
      preview={(values) => {
        const changed = changedRules(values, base);
        if (Object.keys(changed).length === 0) throw new InputError(t.rules.nothing);
        return (
          <>
            <Table caption={t.rules.changes} columns={changeColumns} rows={changes(base, changed)} />
            {policy.campaign && <p class="warning">{t.rules.later(fullDay(policy.campaign.through))}</p>}
          </>
        );
      }}
      work={async ({ reason = '', ...values }) => {
        const body = { reason, ...changedRules(values, base) };
        await cashback.policy.change(body, { ifMatch: version }).catch((error: unknown) => {
          // The fields that nobody touched show what somebody else has changed.
          onDone();
          throw error;
        });
      }}
    >
      <Field name="reason" label={t.field.reason} hint={t.rules.reasonHint} />
      <RuleFields rules={base} policy={base} />
    </Action>
  );
}

const changeColumns: Column<[name: string, before: string, after: string]>[] = [
  { head: t.rules.rule, cell: ([name]) => name, isLead: true },
  { head: t.rules.before, cell: ([, before]) => before },
  { head: t.rules.after, cell: ([, , after]) => after, isLead: true },
];

/** A version with the rules that the one before it had; none before the first. */
interface Versioned extends PolicyVersion {
  before: RulesSet | undefined;
}

/** A merchant has few versions, and what a rule was before can be in any earlier one, so they are read together. */
const versions = (signal: AbortSignal): Paged<Versioned> => ({
  async *pages() {
    const found = await all(cashback.policy.history({ limit: 100 }, { signal }));
    let rules: RulesSet | undefined;
    const data = found.reverse().map((version) => {
      const before = rules;
      rules = { ...rules, ...version.changes };
      return { ...version, before };
    });
    yield { data: data.reverse(), next_cursor: null };
  },
});

const versionColumns: Column<Versioned>[] = [
  { head: t.rules.since, cell: ({ since }) => <When at={since} />, isLead: true },
  { head: t.field.by, cell: (version) => by(version.by), isLead: true },
  { head: t.field.reason, cell: ({ reason }) => reason ?? '–' },
  {
    head: t.rules.changes,
    cell: ({ before, changes: after }) =>
      before === undefined ? (
        <details>
          <summary>{t.rules.first}</summary>
          <Sentences of={after} />
        </details>
      ) : (
        <ul>
          {changes(before, after).map(([name, old, next]) => (
            <li key={name}>{t.rules.changed(name, old, next)}</li>
          ))}
        </ul>
      ),
  },
];

export const rules = (session: Session): JSX.Element => <Rules session={session} />;
