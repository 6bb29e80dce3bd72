import type { Answer } from '../client.js';
import { Campaign, type CampaignContent } from './campaigns.js';
import type { Dice } from './dice.js';
import { count, invalid, type Outcome, problem } from './expected.js';
import { elements } from './pages.js';
import { type Rules, rulesBody, rulesView } from './rules.js';
import { requestOf, type Shop } from './shop.js';
import { addDays, localDate, MINUTE, startOfDay } from './values.js';

type Changes = Partial<Rules>;
type Rates = Rules['earnRates'];

/** "The rates stay below the operator's `earn_rate_ceiling`, by default 20 %", and shares below 50 %. */
const CEILINGS = { earnRate: 2000n, redeemShare: 5000n };

const rarely = (dice: Dice, above: bigint, rates: bigint[]): bigint => (dice.once(12) ? above : dice.pick(rates));
const aRate = (dice: Dice, ...rates: bigint[]): bigint => rarely(dice, CEILINGS.earnRate + 1n, rates);

const CHOICES: ((dice: Dice) => Changes)[] = [
  (dice) => ({ earnRate: aRate(dice, 1000n, 0n, 725n, 2000n) }),
  (dice) => ({ earnRate: 1000n, earnRates: dice.pick<Rates>([{}, { pix: 1200n }, { card: 0n, boleto: 2000n }]) }),
  (dice) => ({ earnRates: dice.pick<Rates>([{ pix: aRate(dice, 1500n) }, {}]) }),
  (dice) => ({ earnMinimumTotal: dice.pick([10_000n, 10_001n, 0n]) }),
  (dice) => ({ earnMaximum: dice.pick([300n, 5000n, null]) }),
  (dice) => ({ earnRateMaximum: dice.pick([aRate(dice, 2000n, 500n), null]) }),
  (dice) => ({ redeemShare: rarely(dice, CEILINGS.redeemShare + 1n, [1000n, 5000n, 2500n]) }),
  (dice) => ({ redeemMinimumTotal: dice.pick([0n, 5000n]) }),
  (dice) => ({ redeemMinimum: dice.pick([100n, 0n]) }),
  (dice) => ({ releaseDays: dice.pick([3, 3, 1, 0]) }),
  (dice) => ({ validityDays: dice.pick([1, 5, 30]) }),
  (dice) => ({ orderTtlMinutes: dice.pick([15, 60, 60, 20_000]) }),
];

/** "An `earn_rate` without `earn_rates_by_payment_method` replaces those rates, too." */
const complete = (changes: Changes): Changes =>
  changes.earnRate === undefined ? changes : { earnRates: {}, ...changes };

function randomChanges(dice: Dice): Changes {
  const picked = Array.from({ length: 1 + dice.upTo(3) }, () => dice.pick(CHOICES)(dice));
  return Object.assign({}, ...picked) as Changes;
}

const firstDay = ({ now, rules }: Shop): string => localDate(now, rules.timeZone);

function randomContent(shop: Shop, dice: Dice): CampaignContent {
  const day = firstDay(shop);
  const from = addDays(day, dice.once(12) ? -1 : dice.pick([0, 0, 1, 1, 2, 4]));
  const through = addDays(from, dice.once(12) ? -1 : dice.pick([0, 0, 1, 2]));
  return {
    name: dice.pick(['Black Friday', 'Weekend', 'Volta às aulas']),
    from,
    through,
    changes: randomChanges(dice),
  };
}

const bodyOf = ({ changes, ...days }: CampaignContent): object => ({ ...days, rules: rulesBody(changes) });

/** Why a content is refused. @param known the campaign that changes */
function contentRefusal(shop: Shop, content: CampaignContent, known?: Campaign): Outcome | false {
  const { now, rules, campaigns } = shop;
  const { from, through, changes } = content;
  const today = localDate(now, rules.timeZone);
  const isPast = from < today && from !== known?.content.from;
  const overlaps = ({ content: other }: Campaign): boolean => other.from <= through && from <= other.through;
  const isTaken = campaigns.some((one) => one !== known && one.isOpen(now) && overlaps(one));
  const isFixed = known?.hasBegun(now) === true && from !== known.content.from;
  const isAbove = isAboveCeilings(changes);
  const isContradictory = contradicts({ ...shop.base, ...changes });
  if (isTaken) count('a campaign overlaps with another one');
  if (isFixed) count('a campaign that has begun cannot begin on another day');
  if (isAbove) count('a campaign is above a ceiling');
  if (isContradictory) count('a rule of a campaign contradicts the base');
  const isWrong = isPast || isTaken || isFixed || from > through;
  // "400 in the last minute of the last day"
  const isRenamed = known?.isSame({ ...content, name: known.name }) === true;
  const isTooLate = !isRenamed && startOfDay(addDays(through, 1), rules.timeZone) <= now + MINUTE;
  if (isTooLate && through >= today) count('a campaign would end before it begins');
  return invalid(isWrong && 'from', isTooLate && 'through', (isAbove || isContradictory) && 'rules');
}

function isAboveCeilings({ earnRate = 0n, earnRates = {}, earnRateMaximum, redeemShare = 0n }: Changes): boolean {
  const rates = [earnRate, earnRateMaximum ?? 0n, ...Object.values(earnRates)];
  return rates.some((rate) => rate > CEILINGS.earnRate) || redeemShare > CEILINGS.redeemShare;
}

/** "`late_sale_days` (0), at most 7 and `release_days`"; a default lifetime is not above the maximum */
const contradicts = ({ lateSaleDays, releaseDays, orderTtlMinutes, maxOrderTtlMinutes }: Rules): boolean =>
  lateSaleDays > releaseDays || orderTtlMinutes > maxOrderTtlMinutes;

export async function createCampaign(shop: Shop, dice: Dice): Promise<void> {
  const { now, by, campaigns } = shop;
  const open = campaigns.filter((one) => one.isOpen(now));
  const asked = open.length > 0 && dice.once(6) ? dice.pick(open).content : randomContent(shop, dice);
  const content = { ...asked, changes: complete(asked.changes) };
  // "the same campaign again returns it … until it is over or ended"
  const same = open.find((one) => one.isSame(content));
  const refusals = [same === undefined && contentRefusal(shop, content)];
  const request = requestOf(dice, 'POST', '/campaigns', bodyOf(asked));
  let campaign = same;
  const answer = await shop.write(request, refusals, () => {
    campaign ??= new Campaign(content, now, by, shop.rules.timeZone);
    if (same === undefined) campaigns.push(campaign);
    return { status: 201, body: campaign.view(now), replayed: same !== undefined };
  });
  if (!answer) return;
  campaign!.id = answer.body.id;
  shop.expectSame(`/campaigns/${answer.body.id}`, answer.headers.get('location'), 'Location');
  if (campaign!.versions[0]!.beginsAt === now + MINUTE) count('a campaign begins on the day on which it is made');
}

/** A campaign of this sequence, usually one that is open. */
function aCampaign(shop: Shop, dice: Dice): Campaign | undefined {
  const open = shop.campaigns.filter((one) => one.isOpen(shop.now));
  return open.length > 0 && !dice.once(5) ? dice.pick(open) : shop.campaigns.at(-1);
}

export async function changeCampaign(shop: Shop, dice: Dice): Promise<void> {
  const campaign = aCampaign(shop, dice);
  if (!campaign) return createCampaign(shop, dice);
  const { now, by } = shop;
  const { content: own } = campaign;
  const random = randomContent(shop, dice);
  const through = own.through > firstDay(shop) ? dice.pick([own.through, firstDay(shop)]) : random.through;
  const days = { from: own.from, through: through < own.from ? own.from : through };
  const asked = dice.pick([
    { ...random, ...days },
    { ...random, ...days },
    { ...own, ...days },
    { ...own, name: random.name },
    random,
    own,
  ]);
  const content = { ...asked, changes: complete(asked.changes) };
  const isSame = campaign.isSame(content);
  const refusals = isSame ? [] : [conflictUnlessOpen(campaign, now), contentRefusal(shop, content, campaign)];
  const request = requestOf(dice, 'PUT', `/campaigns/${campaign.id}`, bodyOf(asked));
  await shop.write(request, refusals, () => {
    if (!isSame) countChange(shop, campaign);
    if (!isSame) campaign.change(content, now, by);
    return { status: 200, body: campaign.view(now), replayed: isSame };
  });
}

function countChange({ now, orders }: Shop, campaign: Campaign): void {
  if (!campaign.hasBegun(now)) return count('a campaign changes before it begins');
  count('a campaign changes while it runs');
  if (campaign.versions.length > 1 && campaign.latest.beginsAt > now) count('a change of a campaign is changed again');
  if (orders.some((order) => order.isOpen && order.campaign === campaign)) count('a campaign of an open order changes');
}

/** "one that is over or was ended is 409 `campaign_status_conflict`" */
const conflictUnlessOpen = (campaign: Campaign, now: number): Outcome | false =>
  !campaign.isOpen(now) && conflict(campaign.isOver(now) ? 'over' : 'running');

const conflict = (status: string): Outcome => problem('campaign_status_conflict', { campaign_status: status });

/** "409 before it begins" */
export async function endCampaign(shop: Shop, dice: Dice): Promise<void> {
  const campaign = aCampaign(shop, dice);
  if (campaign) await end(shop, campaign);
}

async function end(shop: Shop, campaign: Campaign): Promise<void> {
  const { now, by } = shop;
  const isOpen = campaign.isOpen(now);
  const refusals = [isOpen && !campaign.hasBegun(now) && conflict('upcoming')];
  await shop.write({ method: 'POST', path: `/campaigns/${campaign.id}/end` }, refusals, () => {
    if (isOpen) {
      count('a campaign is ended');
      campaign.end(now, by);
    }
    return { status: 200, body: campaign.view(now), replayed: !isOpen };
  });
}

/** "removes one that has not begun, with 204; 409 later, and within the last five seconds" */
export async function deleteCampaign(shop: Shop, dice: Dice): Promise<void> {
  const campaign = aCampaign(shop, dice);
  if (campaign) await remove(shop, campaign);
}

async function remove(shop: Shop, campaign: Campaign): Promise<Answer> {
  const { now, campaigns } = shop;
  const request = { method: 'DELETE', path: `/campaigns/${campaign.id}` } as const;
  if (campaign.isOver(now)) return shop.send(request, conflict('over'));
  if (campaign.hasBegun(now)) return shop.send(request, conflict('running'));
  await shop.send(request, { status: 204, body: '' });
  campaigns.splice(campaigns.indexOf(campaign), 1);
  return shop.send(request, problem('not_found'));
}

/** Lets time pass until the next campaign begins or, if there is none, until what was changed holds. */
export async function awaitCampaign(shop: Shop, dice: Dice): Promise<void> {
  const next = Math.min(...shop.campaigns.map(({ latest }) => latest.beginsAt).filter((at) => at > shop.now));
  const at = next === Infinity ? shop.now + MINUTE : next;
  await shop.sequence.pass(Math.max(at + dice.pick([0, 0, 0, -1, -4000, MINUTE]) - shop.now, 0), dice.once(2));
}

export async function readCampaigns(shop: Shop, dice: Dice): Promise<void> {
  const { now, campaigns } = shop;
  const views = campaigns.map((one) => one.view(now)).reverse();
  const listed = await elements(shop, `/campaigns?limit=${1 + dice.upTo(5)}`);
  // Those of earlier sequences follow.
  shop.expectSame(views, listed.slice(0, views.length), 'the campaigns, newest first');
  const campaign = aCampaign(shop, dice);
  if (campaign)
    await shop.send({ method: 'GET', path: `/campaigns/${campaign.id}` }, { status: 200, body: campaign.view(now) });
}

/** "`GET /policy` has what holds now, `campaign` or null, `base` without it, and `upcoming`." */
export async function readPolicy(shop: Shop): Promise<void> {
  const { now, inForce } = shop;
  const { base, rules, campaign } = inForce;
  const upcoming = shop.campaigns.filter((one) => !one.isOver(now) && one.versions[0]!.beginsAt > now);
  upcoming.sort((a, b) => (a.content.from < b.content.from ? -1 : 1));
  if (campaign) count('the policy is that of a campaign');
  if (upcoming.length > 0) count('the policy announces a campaign');
  const body = {
    ...{ ...rulesView(rules), version: shop.policyVersion, base: rulesView(base) },
    campaign: campaign === undefined ? null : campaign.daysView(campaign.at(now)!.content),
    upcoming: upcoming.map((one) => one.upcomingView()),
  };
  await shop.send({ method: 'GET', path: '/policy' }, { status: 200, body });
}

/** Ends what runs and removes what is to come, and waits for that: the next sequence begins without campaigns. */
export async function closeCampaigns(shop: Shop): Promise<void> {
  const open = shop.campaigns.filter((one) => one.isOpen(shop.now));
  for (const campaign of open) await (campaign.hasBegun(shop.now) ? end(shop, campaign) : remove(shop, campaign));
}

/** When something begins or ends, or began or ended. */
export const campaignDates = ({ campaigns }: Shop): number[] =>
  campaigns.flatMap(({ versions }) => versions.flatMap(({ beginsAt, endsAt }) => [beginsAt, endsAt]));

/** Counts what a sale has of a campaign. */
export function countCampaign(shop: Shop, soldAt: number, isLate: boolean, then: Campaign | undefined): void {
  const { campaign } = shop.inForce;
  if (then === undefined) {
    if (campaign !== undefined && isLate) count('a late sale is of before a campaign');
    return;
  }
  if (!isLate) return campaign === then ? undefined : count('a sale of just before has a campaign that is over');
  count('a late sale has a campaign');
  if (then !== campaign) count('a late sale has a campaign that no longer holds');
  if (then.at(soldAt) !== then.latest) count('a late sale has the rules of a campaign from before a change');
  if (then.endedBy !== null) count('a late sale has a campaign that was ended');
}
