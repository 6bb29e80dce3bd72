import { readdirSync } from 'node:fs';
import { DataSource, type MigrationInterface } from 'typeorm';
import { ApiUser, Session, TokenSet } from './auth/api-user.entity.js';
import { RateLimit } from './auth/login-limit.js';
import { Credit, Hold } from './cashback/credit.entity.js';
import { Debit } from './cashback/debit.entity.js';
import { Entry } from './cashback/entry.entity.js';
import { Grant } from './cashback/grant.entity.js';
import { GrantDay, LedgerDay } from './cashback/sums.js';
import { Wallet } from './cashback/wallet.entity.js';
import { EventSweep, FeedEvent, WebhookEndpoint } from './events/event.entity.js';
import { CampaignVersion } from './merchants/campaign.entity.js';
import { GrantTotal } from './merchants/grant-totals.js';
import { EventFeed, Merchant, PolicyBase, SumPosition } from './merchants/merchant.entity.js';
import { AuditRecord } from './operations/audit.service.js';
import { CustomerChange } from './orders/customer-change.entity.js';
import { Order } from './orders/order.entity.js';
import { Refund } from './orders/refund.entity.js';
import { RefundDay, SalesDay } from './orders/sums.js';
import { dataSourceOptions, type Schema } from './platform/database/data-source.js';
import { OutboxRow } from './platform/database/unit-of-work.js';
import { MerchantClock } from './sandbox/clock-locks.service.js';

type Migration = new () => MigrationInterface;

async function migrations(): Promise<Migration[]> {
  const files = readdirSync(new URL('../migrations', import.meta.url)).filter((file) => /^\d+-\w+\.[jt]s$/.test(file));
  const modules = files.sort().map((file) => import(`../migrations/${file}`) as Promise<Record<string, Migration>>);
  return (await Promise.all(modules)).flatMap((module) => Object.values(module));
}

/** All entities, and all migrations of the folder. */
export const SCHEMA = {
  entities: [
    Merchant,
    CampaignVersion,
    PolicyBase,
    ApiUser,
    Session,
    TokenSet,
    Wallet,
    Credit,
    Hold,
    Entry,
    Grant,
    GrantTotal,
    Debit,
    Order,
    Refund,
    CustomerChange,
    OutboxRow,
    EventFeed,
    FeedEvent,
    EventSweep,
    SumPosition,
    LedgerDay,
    GrantDay,
    SalesDay,
    RefundDay,
    WebhookEndpoint,
    RateLimit,
    MerchantClock,
    AuditRecord,
  ],
  migrations: await migrations(),
} satisfies Schema;

export function createDataSource(url: string, poolSize = 2): DataSource {
  return new DataSource(dataSourceOptions(SCHEMA, url, poolSize));
}
