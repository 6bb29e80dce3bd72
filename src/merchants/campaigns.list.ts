import { In } from 'typeorm';
import { list, type PageRequest } from '../platform/database/lists.js';
import { type Answer, type Asked, type ListOf } from '../platform/database/reads.js';
import { notFound } from '../platform/values/problem.js';
import { type CampaignDto, toCampaignDto } from './campaign.dto.js';
import { type Campaign, CampaignVersion, findCampaigns } from './campaign.entity.js';
import { PolicyBase } from './merchant.entity.js';
import { type PolicyVersionDto, toVersionDto } from './policy.dto.js';

const LATEST_VERSION =
  'NOT EXISTS (SELECT 1 FROM policy_versions v WHERE v.merchant_id = policy_versions.merchant_id AND v.id = policy_versions.id AND v.stored_at > policy_versions.stored_at)';

/** The merchant's campaigns, newest first. */
export const CAMPAIGNS: ListOf<PageRequest, CampaignDto> = (asked) =>
  list({
    name: 'campaigns',
    entity: CampaignVersion,
    isSmall: true,
    key: 'id',
    order: 'DESC',
    ranges: [{ index: 'ix_policy_versions_id', prefix: [[LATEST_VERSION]] }],
    present: async (versions) => {
      const campaigns = await readCampaigns(
        asked,
        versions.map(({ id }) => id),
      );
      const byId = new Map(campaigns.map((campaign) => [campaign.id, campaign]));
      return versions.map(({ id }) => toCampaignDto(byId.get(id)!, asked.now));
    },
  });

/** A campaign. @throws Problem not_found, also for a campaign of another merchant. */
export const CAMPAIGN: Answer<{ id: string }, CampaignDto> = async (asked) => {
  const [campaign] = await readCampaigns(asked, [asked.query.id]);
  if (campaign === undefined) throw notFound('no campaign has this ID');
  return toCampaignDto(campaign, asked.now);
};

const readCampaigns = ({ manager, ...of }: Asked, ids: string[]): Promise<Campaign[]> =>
  findCampaigns(manager, of, { id: In(ids) });

/** The versions of the rules that hold without a campaign, newest first. */
export const POLICY_HISTORY: ListOf<PageRequest, PolicyVersionDto> = ({ manager, merchantId }) =>
  list({
    name: 'policy history',
    entity: PolicyBase,
    isSmall: true,
    number: 'version',
    order: 'DESC',
    ranges: [{ index: 'PRIMARY', prefix: [] }],
    present: async (bases) => {
      const version = bases.at(-1)!.version - 1;
      const before = await manager.findOneBy(PolicyBase, { merchantId, version });
      return bases.map((base, at) => toVersionDto(base, bases[at + 1] ?? before ?? undefined));
    },
  });
