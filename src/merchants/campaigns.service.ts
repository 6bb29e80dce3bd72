import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { type EntityManager, IsNull, MoreThan } from 'typeorm';
import { OPERATOR } from '../platform/values/caller.js';
import { newId } from '../platform/values/ids.js';
import { notFound, Problem, validationFailed } from '../platform/values/problem.js';
import { after, dayOf, SECOND_MS } from '../platform/values/time.js';
import {
  Campaign,
  type CampaignStatus,
  CampaignVersion,
  dated,
  findCampaigns,
  inAMinute,
  openCampaigns,
  type PolicyChanges,
  type RequestedCampaign,
} from './campaign.entity.js';
import { type Merchant } from './merchant.entity.js';
import { changedRules, MerchantsService, refuseAboveCeilings, refuseContradiction } from './merchants.service.js';

/** A campaign after a change, as it is at an instant, and whether it was so before. */
export interface ChangedCampaign {
  campaign: Campaign;
  now: Date;
  replayed: boolean;
}

/** A merchant whose row is locked, with its campaigns that are neither over nor ended. */
interface Locked {
  manager: EntityManager;
  merchant: Merchant;
  now: Date;
  open: Campaign[];
}

/** How many campaigns of a merchant are not over: all instances read them each second. */
const MAX_OPEN = 100;

/** Where the rules of a campaign are in a request. */
const PLACE = '/rules';

/** Changes campaigns: what begins or ends does so at midnight, or a minute after it was stored. */
@Injectable()
export class CampaignsService {
  constructor(private readonly merchants: MerchantsService) {}

  /**
   * Makes a campaign, or finds the one that is the same.
   *
   * @throws Problem validation_failed if the days are over or overlap with others, if two rules contradict each other,
   *   and above the ceilings.
   */
  create(merchantId: string, asked: RequestedCampaign, by: string): Promise<ChangedCampaign> {
    return this.#changing(merchantId, async (locked) => {
      const campaign = locked.open.find(({ latest }) => isSame(latest, asked));
      if (campaign !== undefined) return { campaign, replayed: true };
      refuseContent(locked, asked, by);
      return { campaign: await insertNew(locked, asked, by), replayed: false };
    });
  }

  /**
   * Changes a campaign that is not over. One that has begun keeps its first day, and changes in a minute.
   *
   * @throws Problem not_found; campaign_status_conflict; and those of {@link create}.
   */
  update(merchantId: string, id: string, asked: RequestedCampaign, by: string): Promise<ChangedCampaign> {
    return this.#changing(merchantId, async (locked) => {
      const campaign = await find(locked, id);
      const { latest } = campaign;
      if (isSame(latest, asked)) return { campaign, replayed: true };
      const status = statusOf(campaign, locked.now);
      if (status === 'over' || campaign.isEnded)
        throw conflict(campaign, status, 'only one that is not over can be changed');
      if (asked.fromDay !== latest.fromDay && status === 'running')
        throw wrongDay('from', `must be ${latest.fromDay}: the campaign has begun`);
      refuseContent(locked, asked, by, campaign);
      return { campaign: await supersede(locked, campaign, asked, by), replayed: false };
    });
  }

  /** Ends a campaign that runs, in a minute. @throws Problem not_found; campaign_status_conflict before it begins. */
  end(merchantId: string, id: string, by: string): Promise<ChangedCampaign> {
    return this.#changing(merchantId, async (locked) => {
      const campaign = await find(locked, id);
      const status = statusOf(campaign, locked.now);
      if (status === 'over' || campaign.isEnded) return { campaign, replayed: true };
      if (status === 'upcoming') throw conflict(campaign, status, 'delete it instead');
      await endVersions(locked, campaign, by);
      return { campaign: await find(locked, id), replayed: false };
    });
  }

  /** Removes a campaign that has not begun. @throws Problem not_found; campaign_status_conflict once it has. */
  async remove(merchantId: string, id: string): Promise<void> {
    await this.#changing(merchantId, async (locked) => {
      const campaign = await find(locked, id);
      const status = statusOf(campaign, locked.now);
      if (status !== 'upcoming') throw conflict(campaign, status, 'orders may have its rules, so end it instead');
      await locked.manager.delete(CampaignVersion, { merchantId, id });
      return { campaign, replayed: false };
    });
  }

  #changing(
    merchantId: string,
    change: (locked: Locked) => Promise<Omit<ChangedCampaign, 'now'>>,
  ): Promise<ChangedCampaign> {
    return this.merchants.changing(merchantId, async (manager, merchant, now) => {
      const open = await openCampaigns(manager, merchant, now);
      return { ...(await change({ manager, merchant, now, open })), now };
    });
  }
}

/** A general rate replaces all rates of methods. */
export const withRates = (changes: PolicyChanges): PolicyChanges =>
  changes.earnRateBps === undefined ? changes : { earnRatesByPaymentMethod: {}, ...changes };

/** Instances keep policies for a second: a campaign that begins this soon may have begun for another one. */
const SOON_MS = 5 * SECOND_MS;

const statusOf = (campaign: Campaign, now: Date): CampaignStatus => {
  const status = campaign.statusAt(now);
  return status === 'upcoming' ? campaign.statusAt(after(now, SOON_MS)) : status;
};

const today = ({ now, merchant }: Locked): string => dayOf(now, merchant.policy.timeZone);

const isSame = (version: CampaignVersion, { name, fromDay, throughDay, changes }: RequestedCampaign): boolean =>
  version.name === name &&
  version.fromDay === fromDay &&
  version.throughDay === throughDay &&
  isDeepStrictEqual(version.changes, changes);

async function find({ manager, merchant }: Locked, id: string): Promise<Campaign> {
  const of = { merchantId: merchant.id, timeZone: merchant.policy.timeZone };
  const [campaign] = await findCampaigns(manager, of, { id });
  if (campaign === undefined) throw notFound('no campaign has this ID');
  return campaign;
}

/** @param known the campaign that changes; undefined for a new one. */
function refuseContent(locked: Locked, asked: RequestedCampaign, by: string, known?: Campaign): void {
  const { fromDay, throughDay, changes } = asked;
  if (fromDay !== known?.latest.fromDay && fromDay < today(locked)) throw wrongDay('from', 'must be today or later');
  const others = locked.open.filter(({ id }) => id !== known?.id);
  if (others.length >= MAX_OPEN)
    throw validationFailed([
      { pointer: '/from', detail: `a merchant has at most ${MAX_OPEN} campaigns that are not over` },
    ]);
  if (throughDay < fromDay) throw wrongDay('from', 'must not be after through');
  if (throughDay < today(locked)) throw wrongDay('through', 'must be today or later');
  const other = others.find(({ latest }) => latest.fromDay <= throughDay && fromDay <= latest.throughDay)?.latest;
  if (other !== undefined) {
    const days = `from ${other.fromDay} through ${other.throughDay}`;
    throw wrongDay('from', `overlaps with the campaign "${other.name}" ${days}: change, end or delete that one first`);
  }
  const { policy } = locked.merchant;
  const changed = changedRules(changes, policy);
  // Also what is as the base of now: the campaign keeps it.
  const set = Object.keys(changes) as (keyof PolicyChanges)[];
  if (by !== OPERATOR) refuseAboveCeilings(changes, policy, set, PLACE);
  refuseContradiction({ ...policy, ...changes }, changed, PLACE);
}

/** The campaign has different content from now on or, if it has begun, in a minute. */
async function supersede(locked: Locked, campaign: Campaign, asked: RequestedCampaign, by: string): Promise<Campaign> {
  const { manager, merchant } = locked;
  const { id, latest, madeAt, madeBy } = campaign;
  await manager.update(CampaignVersion, { merchantId: merchant.id, id }, { name: asked.name });
  if (isSame({ ...latest, name: asked.name }, asked)) return find(locked, id);
  await endVersions(locked, campaign, null);
  await insert(locked, { id, madeAt, madeBy }, asked, by);
  return find(locked, id);
}

/** What has begun ends in a minute, and what has not is forgotten. */
async function endVersions(
  { manager, merchant, now }: Locked,
  { id, latest }: Campaign,
  by: string | null,
): Promise<void> {
  const own = { merchantId: merchant.id, id };
  const { fromDay, storedAt } = latest;
  const isForgotten = latest.beginsAt > after(now, SOON_MS);
  if (isForgotten) await manager.delete(CampaignVersion, { ...own, fromDay, storedAt });
  // What was to follow on the version before is forgotten, so that one ends when the next one begins.
  const endedAt = isForgotten ? MoreThan(now) : IsNull();
  await manager.update(CampaignVersion, { ...own, endedAt }, { endedAt: inAMinute(now), endedBy: by });
}

const insertNew = (locked: Locked, asked: RequestedCampaign, by: string): Promise<Campaign> =>
  insert(locked, { id: newId(locked.now), madeAt: locked.now, madeBy: by }, asked, by);

/** @throws Problem validation_failed if it would end before it begins. */
async function insert(
  { manager, merchant, now }: Locked,
  of: Pick<CampaignVersion, 'id' | 'madeAt' | 'madeBy'>,
  { name, fromDay, throughDay, changes }: RequestedCampaign,
  createdBy: string,
): Promise<Campaign> {
  const own = { ...of, merchantId: merchant.id, name, fromDay, throughDay, changes };
  const version = { ...own, storedAt: now, createdBy, endedAt: null, endedBy: null };
  const held = dated(version, merchant.policy.timeZone);
  if (held.endsAt <= held.beginsAt) throw wrongDay('through', 'must be later: that day is over in a minute');
  await manager.insert(CampaignVersion, version);
  return new Campaign([held]);
}

const wrongDay = (member: string, detail: string): Problem => validationFailed([{ pointer: `/${member}`, detail }]);

function conflict({ isEnded }: Campaign, status: CampaignStatus, instead: string): Problem {
  const is = isEnded && status === 'running' ? 'was ended' : `is ${status}`;
  return new Problem('campaign_status_conflict', { campaign_status: status, detail: `the campaign ${is}: ${instead}` });
}
