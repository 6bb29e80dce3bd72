import type { Campaign, CampaignStatus, CurrentPolicy, Policy, RequestCampaign, SalesRow } from '@cashback/client';
import type { JSX } from 'preact';
import { Chart } from '../chart.js';
import { Action, Field } from '../form.js';
import { addDays, count, day, dayFromToday, dayOf, daysBetween, instant, money, period, t } from '../format.js';
import { address, all, go, useLoad, type Values } from '../hooks.js';
import { campaignRules, differing, earned, inShort, methodText, RuleFields, Sentences } from '../rules.js';
import { cashback, type Session } from '../session.js';
import { type Column, Table } from '../table.js';
import { Await, Badge, by, Empty, Facts, Head, Heading, InputError, Money, Section, type Tone, When } from '../ui.js';

const TONES: Record<CampaignStatus, Tone> = { running: 'good', upcoming: 'wait', over: 'off' };
const GROUPS = ['running', 'upcoming', 'over'] as const;

const Status = ({ of }: { of: Campaign }): JSX.Element => (
  <Badge tone={TONES[of.status]} text={t.campaigns.status[of.status]} />
);

const Name = ({ of }: { of: Pick<Campaign, 'id' | 'name'> }): JSX.Element => (
  <a href={address(`campaigns/${of.id}`)}>{of.name}</a>
);

const columnsOf = (base: Policy): Column<Campaign>[] => [
  { head: t.campaigns.name, cell: (campaign) => <Name of={campaign} />, isLead: true },
  { head: t.campaigns.days, cell: ({ from, through }) => period(from, through) },
  { head: t.campaigns.gives, cell: ({ rules }) => inShort(differing(rules, base)) },
  { head: t.campaigns.madeBy, cell: ({ created_by }) => by(created_by) },
];

function Campaigns({ session }: { session: Session }): JSX.Element {
  const loaded = useLoad(
    (signal) =>
      Promise.all([all(cashback.campaigns.list({ limit: 100 }, { signal })), cashback.policy.get({ signal })]),
    [],
  );
  return (
    <>
      <Head title={t.campaigns.title} text={t.campaigns.text}>
        {session.can('rules') && loaded.data && (
          <Edit label={t.campaigns.create} policy={loaded.data[1]} isPrimary onDone={loaded.reload} />
        )}
      </Head>
      <Await of={loaded} lines={6}>
        {([campaigns, policy]) =>
          GROUPS.map((status) => {
            const rows = campaigns.filter((campaign) => campaign.status === status);
            return (
              <Section key={status} title={t.campaigns.group[status]}>
                {status === 'running' && rows.length > 0 ? (
                  rows.map((campaign) => <Running key={campaign.id} campaign={campaign} base={policy.base} />)
                ) : (
                  <Table
                    caption={t.campaigns.group[status]}
                    columns={columnsOf(policy.base)}
                    // The next one is what people look for.
                    rows={status === 'upcoming' ? rows.sort((one, other) => (one.from < other.from ? -1 : 1)) : rows}
                    empty={t.campaigns.empty[status](inShort(policy.base))}
                  />
                )}
              </Section>
            );
          })
        }
      </Await>
    </>
  );
}

const Running = ({ campaign, base }: { campaign: Campaign; base: Policy }): JSX.Element => (
  <article class="card stack">
    <h3>
      <Name of={campaign} /> <Status of={campaign} />
    </h3>
    <p>{period(campaign.from, campaign.through)}</p>
    <Sentences of={differing(campaign.rules, base)} />
    <p class="soft">{t.campaigns.normally(inShort(base))}</p>
    <small>{t.campaigns.by(by(campaign.created_by), instant(campaign.created_at))}</small>
  </article>
);

const daysOf = (campaigns: { name: string; from: string; through: string }[]): string =>
  campaigns.map(({ name, from, through }) => `${period(from, through)} (${name})`).join('; ');

/**
 * Makes a campaign, or changes one.
 *
 * @param props `like` is in the fields; with `isNew` only its rules, and another campaign is made
 */
function Edit(props: {
  label: string;
  policy: CurrentPolicy;
  like?: Campaign;
  isNew?: boolean;
  isPrimary?: boolean;
  onDone: () => void;
}): JSX.Element {
  const { label, policy, like, isPrimary = false, onDone } = props;
  const changed = props.isNew ? undefined : like;
  const before = like?.rules ?? {};
  const contentOf = ({ name = '', from = '', through = '', ...values }: Values): RequestCampaign => {
    const rules = campaignRules(values, policy.base, before);
    if (Object.keys(rules).length === 0) throw new InputError(t.campaigns.nothing);
    return { name, from, through, rules };
  };
  const others = [...(policy.campaign ? [policy.campaign] : []), ...policy.upcoming].filter(
    ({ id }) => id !== changed?.id,
  );
  const taken = daysOf(others);
  const today = dayFromToday(0);
  return (
    <Action
      label={label}
      of={changed?.name}
      isPrimary={isPrimary}
      onDone={onDone}
      preview={(values) => {
        const content = contentOf(values);
        const overlap = others.filter(({ from, through }) => from <= content.through && content.from <= through);
        if (overlap.length > 0) throw new InputError(t.campaigns.overlaps(daysOf(overlap)));
        return <Preview of={content} base={policy.base} hasBegun={changed?.status === 'running'} />;
      }}
      work={async (values) => {
        const content = contentOf(values);
        await (changed ? cashback.campaigns.change(changed.id, content) : cashback.campaigns.create(content));
      }}
    >
      <Field name="name" label={t.campaigns.name} value={like?.name} hint={t.campaigns.nameHint} />
      <div class="pair">
        {changed?.status === 'running' ? (
          <p class="field">
            <span>{t.campaigns.from}</span>
            <small>{t.campaigns.begun(day(changed.from))}</small>
            <input type="hidden" name="from" value={changed.from} />
          </p>
        ) : (
          <Field
            name="from"
            label={t.campaigns.from}
            type="date"
            min={today}
            value={changed?.from}
            hint={taken && t.campaigns.taken(taken)}
          />
        )}
        <Field
          name="through"
          label={t.campaigns.through}
          type="date"
          min={today}
          value={changed?.through}
          hint={t.campaigns.throughHint}
        />
      </div>
      <RuleFields rules={before} base={policy.base} policy={policy} />
    </Action>
  );
}

/** An order of an amount that people know, and that the campaign lets earn. */
const exampleTotal = ({ earn_minimum_total: least }: Policy): string => (Number(least) > 300 ? least : '300.00');

function Preview({ of, base, hasBegun }: { of: RequestCampaign; base: Policy; hasBegun: boolean }): JSX.Element {
  const { name, from, through, rules } = of;
  // As the service does: a rate for all replaces those of methods.
  const then: Policy = { ...base, ...(rules.earn_rate && { earn_rates_by_payment_method: {} }), ...rules };
  const total = exampleTotal(then);
  const methods = [...(rules.earn_rate ? [undefined] : []), ...Object.keys(rules.earn_rates_by_payment_method ?? {})];
  return (
    <div class="card stack">
      <p>
        <strong>{name}</strong>
        <br />
        {period(from, through)}
      </p>
      <Sentences of={rules} />
      <ul>
        {methods.map((id) => (
          <li key={id}>
            {t.campaigns.example(
              money(total),
              id === undefined
                ? methods.length > 1
                  ? t.campaigns.otherMethods
                  : ''
                : t.rules.paidWith(methodText(id)),
              money(earned(total, id, then)),
              money(earned(total, id, base)),
            )}
          </li>
        ))}
      </ul>
      {(hasBegun || from === dayFromToday(0)) && <p class="soft">{t.campaigns.inAMinute}</p>}
    </div>
  );
}

function One({ id, session }: { id: string; session: Session }): JSX.Element {
  const loaded = useLoad(
    (signal) => Promise.all([cashback.campaigns.get(id, { signal }), cashback.policy.get({ signal })]),
    [id],
  );
  return (
    <>
      <a href={address('campaigns')}>{t.campaigns.all}</a>
      <Await of={loaded} lines={8}>
        {([campaign, policy]) => (
          <>
            <div class="head">
              <Heading title={campaign.name}>
                <Status of={campaign} />
              </Heading>
              {session.can('rules') && <Operations campaign={campaign} policy={policy} onChange={loaded.reload} />}
            </div>
            {campaign.status === 'running' && campaign.ended_by && (
              <p class="warning">{t.campaigns.ending(instant(campaign.ends_at))}</p>
            )}
            <div class="card columns">
              <div class="stack">
                <Sentences of={differing(campaign.rules, policy.base)} />
                <p class="soft">{t.campaigns.normally(inShort(policy.base))}</p>
              </div>
              <History of={campaign} />
            </div>
            {session.can('reports') && (
              <Section title={t.campaigns.effect} text={t.campaigns.effectText}>
                {campaign.status === 'upcoming' ? (
                  <Empty>{t.campaigns.notBegun}</Empty>
                ) : (
                  <Effect key={campaign.ends_at} of={campaign} />
                )}
              </Section>
            )}
          </>
        )}
      </Await>
    </>
  );
}

const History = ({ of }: { of: Campaign }): JSX.Element => (
  <Facts
    of={[
      [t.campaigns.days, period(of.from, of.through)],
      [
        t.campaigns.created,
        by(of.created_by),
        <small key="at">
          <When at={of.created_at} />
        </small>,
      ],
      of.changed_at !== of.created_at && [
        t.campaigns.changed,
        by(of.changed_by),
        <small key="at">
          <When at={of.changed_at} />
        </small>,
      ],
      of.ended_by !== null && [
        t.campaigns.ended,
        by(of.ended_by),
        <small key="at">
          <When at={of.ends_at} />
        </small>,
      ],
    ]}
  />
);

function Operations(props: { campaign: Campaign; policy: CurrentPolicy; onChange: () => void }): JSX.Element {
  const { campaign, policy, onChange } = props;
  const { id, name, status, ended_by } = campaign;
  return (
    <p class="buttons actions">
      {status !== 'over' && ended_by === null && (
        <Edit label={t.campaigns.change} policy={policy} like={campaign} onDone={onChange} />
      )}
      <Edit label={t.campaigns.again} policy={policy} like={campaign} isNew onDone={() => go('campaigns')} />
      {status === 'running' && ended_by === null && (
        <Action
          label={t.campaigns.end}
          of={name}
          isDangerous
          onDone={onChange}
          work={async () => void (await cashback.campaigns.end(id))}
        >
          <p>{t.campaigns.endText}</p>
        </Action>
      )}
      {status === 'upcoming' && (
        <Action
          label={t.campaigns.remove}
          of={name}
          isDangerous
          onDone={onChange}
          work={async () => {
            await cashback.campaigns.delete(id);
            go('campaigns');
          }}
        >
          <p>{t.campaigns.removeText}</p>
        </Action>
      )}
    </p>
  );
}

const MEASURES = ['orders', 'total', 'paid', 'earned', 'redeemed', 'refunds', 'refunded'] as const;
type Measure = (typeof MEASURES)[number];

const Amount = ({ of, name }: { of: SalesRow; name: Measure }): JSX.Element => {
  const value = of[name];
  return typeof value === 'string' ? <Money of={value} /> : <>{value === 0 ? '–' : count(value)}</>;
};

/** The report of sales by day has at most 366 days, and as many are compared. */
const MOST_DAYS = 183;

/** What it brought, beside as many days before it. */
function Effect({ of: { id, ...campaign } }: { of: Campaign }): JSX.Element {
  const [through = ''] = [campaign.through, dayFromToday(0), dayOf(campaign.ends_at)].sort();
  const days = Math.min(daysBetween(campaign.from, through) + 1, MOST_DAYS);
  const [before, from, to] = [1 - 2 * days, 1 - days, 1].map((after) => addDays(through, after)) as [
    string,
    string,
    string,
  ];
  const sales = cashback.reports.sales;
  const loaded = useLoad(
    (signal) =>
      Promise.all([
        sales({ from, to, by: 'campaign' }, { signal }),
        sales({ from: before, to: from }, { signal }),
        sales({ from: before, to, by: 'day' }, { signal }),
      ]),
    [from, through],
  );
  return (
    <Await of={loaded} lines={8}>
      {([{ data }, { total: earlier }, daily]) => {
        const own = data.find(({ campaign_id }) => campaign_id === id);
        if (!own) return <Empty>{t.campaigns.noOrders}</Empty>;
        const list = address('list/orders', { campaign_id: id });
        const columns: Column<Measure>[] = [
          { head: t.campaigns.what, cell: (name) => t.campaigns.measure[name], isLead: true },
          {
            ...{ head: period(from, through), isNumber: true, isLead: true },
            cell: (name) => {
              const amount = <Amount of={own} name={name} />;
              return name.startsWith('refund') || Number(own[name]) === 0 ? amount : <a href={list}>{amount}</a>;
            },
          },
          {
            ...{ head: t.campaigns.before(period(before, addDays(from, -1))), isNumber: true },
            cell: (name) => <Amount of={earlier} name={name} />,
          },
        ];
        const pointOf = ({ orders }: SalesRow): { value: number; text: string } => ({
          ...{ value: orders, text: t.campaigns.orders(orders) },
        });
        const bars = daily.data.slice(days).map((row, index) => {
          return { name: day(row.from), ...pointOf(row), before: pointOf(daily.data[index]!) };
        });
        return (
          <>
            <Table caption={t.campaigns.effect} columns={columns} rows={[...MEASURES]} />
            {days > 1 && <Chart caption={t.campaigns.chart} bars={bars} legend={t.campaigns.compared(days)} />}
          </>
        );
      }}
    </Await>
  );
}

export const campaigns = (session: Session, [id = '']: string[]): JSX.Element =>
  id === '' ? <Campaigns session={session} /> : <One key={id} id={id} session={session} />;
