import { addDays, dayOf, HOUR_MS } from '../../../src/platform/values/time.js';
import { aLongLivedMerchant } from '../long-lived-merchant.js';
import type { Service } from '../service.js';
import { type Edit, order, UNKNOWN } from './statements.js';

const ZONE = 'America/Sao_Paulo';

/**
 * A merchant whose rules were changed, with a campaign that was changed and ended. An order has it, and a late sale has
 * it although it is over.
 *
 * @returns the IDs that edits use
 */
export async function makeRuled(service: Service): Promise<Record<string, string>> {
  const merchant = await aLongLivedMerchant(service, { lateSaleDays: 1 });
  await merchant.changePolicy({ validity_days: 90 });
  const today = dayOf(service.clock.now(), ZONE);
  const days = { from: today, through: addDays(today, 2) };
  const campaign = await merchant.campaign(days);
  await service.clock.advance({ minutes: 2 });
  await merchant.changeCampaign(campaign, { ...days, rules: { earn_rate: '0.20' } });
  await service.clock.advance({ minutes: 2 });
  const order = await merchant.completed();
  const sold_at = service.clock.now().toISOString();
  await merchant.endCampaign(campaign);
  await service.clock.advance({ ms: HOUR_MS });
  const late = await merchant.sell({ sold_at });
  return {
    ...{ 'ruled.merchant': merchant.id, 'ruled.campaign': campaign.id },
    ...{ 'ruled.order': order.id, 'late.order': late.id },
  };
}

const base = (version: number, change: string): string =>
  `UPDATE policy_bases SET ${change} WHERE merchant_id = {ruled.merchant} AND version = ${version}`;
const merchant = (change: string): string => `UPDATE merchants SET ${change} WHERE id = {ruled.merchant}`;
const campaign = (change: string): string =>
  `UPDATE policy_versions SET ${change} WHERE id = {ruled.campaign} ORDER BY stored_at DESC LIMIT 1`;

export const RULE_EDITS: Edit[] = [
  ['another rate in the latest version', base(2, "policy = JSON_SET(policy, '$.earnRateBps', 9)")],
  ['a missing first version', 'DELETE FROM policy_bases WHERE merchant_id = {ruled.merchant} AND version = 1'],
  ['a missing latest version', 'DELETE FROM policy_bases WHERE merchant_id = {ruled.merchant} AND version = 2'],
  ['a version with a gap before it', base(2, 'version = 3')],
  ['a version of another merchant', base(1, 'merchant_id = {merchant.id}, version = 9')],
  [
    'an extra version',
    `INSERT INTO policy_bases (merchant_id, version, policy, stored_at, stored_by)
     SELECT merchant_id, 3, policy, stored_at, stored_by FROM policy_bases WHERE merchant_id = {ruled.merchant} AND version = 2`,
  ],
  ['other rules of a merchant without a version', merchant("policy = JSON_SET(policy, '$.validityDays', 91)")],
  ['a higher number of the version of a merchant', merchant('policy_version = 3')],
  ['a lower number of the version of a merchant', merchant('policy_version = 1')],
  ['an order with a campaign that does not exist', order('ruled', `campaign_id = ${UNKNOWN}`)],
  ['an order with the campaign of another merchant', order('redeemed', 'campaign_id = {ruled.campaign}')],
  ['a late sale with a campaign that does not exist', order('late', `campaign_id = ${UNKNOWN}`)],
  ['an order without its campaign', order('ruled', 'campaign_id = NULL')],
  ['a late sale without its campaign', order('late', 'campaign_id = NULL')],
  ['a late sale that was not sold earlier', order('late', 'sold_at = NULL')],
  ['a late sale that was sold on another day', order('late', 'sold_at = sold_at - INTERVAL 1 DAY')],
  ['a sale that was sold after it was created', order('late', 'sold_at = created_at + INTERVAL 6 MINUTE')],
  ['a sale of now that was sold earlier', order('ruled', 'sold_at = created_at - INTERVAL 1 HOUR')],
];

/** Edits of several rows. */
export const CAMPAIGN_EDITS: [title: string, sql: string, rows: number][] = [
  ['a campaign that does not exist any more', 'DELETE FROM policy_versions WHERE id = {ruled.campaign}', 2],
  ['a campaign with another ID', `UPDATE policy_versions SET id = ${UNKNOWN} WHERE id = {ruled.campaign}`, 2],
  [
    'a campaign of another merchant',
    'UPDATE policy_versions SET merchant_id = {patient.id} WHERE id = {ruled.campaign}',
    2,
  ],
];

export const UNNOTICED_RULE_EDITS: Edit[] = [
  ['a different name of a campaign, because it is free text', campaign("name = 'other'")],
  [
    'a different rate of a campaign, because orders keep their rules',
    campaign("changes = JSON_SET(changes, '$.earnRateBps', 9)"),
  ],
  ['a later end of a campaign, because orders keep their rules', campaign('ended_at = ended_at + INTERVAL 3 MINUTE')],
  ['another rate in an earlier version of the rules', base(1, "policy = JSON_SET(policy, '$.earnRateBps', 9)")],
  ['a different reason of a version of the rules, because it is free text', base(2, "reason = 'other'")],
];
