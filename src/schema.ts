import { DataSource } from 'typeorm';
import { ApiUser } from './auth/api-user.entity.js';
import { Merchant } from './merchants/merchant.entity.js';
import { Session } from './auth/session.entity.js';
import { TokenSet } from './auth/token-set.entity.js';
import { AuditRecord } from './admin/audit-record.entity.js';
import { Credit } from './cashback/credit.entity.js';
import { Entry } from './cashback/entry.entity.js';
import { Grant } from './cashback/grant.entity.js';
import { Hold } from './cashback/hold.entity.js';
import { Wallet } from './cashback/wallet.entity.js';
import { Order } from './orders/order.entity.js';
import { Refund } from './orders/refund.entity.js';
import { RateLimit } from './rate-limits/rate-limit.entity.js';
import { dataSourceOptions, type Schema } from './database/data-source.js';
import { CreateMerchants1763640000000 } from '../migrations/1763640000000-CreateMerchants.js';
import { CreateTokens1763640000001 } from '../migrations/1763640000001-CreateTokens.js';
import { CreateWallets1763640000002 } from '../migrations/1763640000002-CreateWallets.js';
import { CreateOrders1763640000003 } from '../migrations/1763640000003-CreateOrders.js';
import { CreateLedger1763640000004 } from '../migrations/1763640000004-CreateLedger.js';
import { CreateRateLimits1763640000005 } from '../migrations/1763640000005-CreateRateLimits.js';
import { AddOpenCredits1763640000006 } from '../migrations/1763640000006-AddOpenCredits.js';
import { IndexOrderStatus1763640000007 } from '../migrations/1763640000007-IndexOrderStatus.js';
import { AddWalletBalances1763640000008 } from '../migrations/1763640000008-AddWalletBalances.js';
import { LoosenLedger1763640000009 } from '../migrations/1763640000009-LoosenLedger.js';
import { AddGrantsAndAuditLog1763640000011 } from '../migrations/1763640000011-AddGrantsAndAuditLog.js';
import { AddNextBalanceChange1763640000012 } from '../migrations/1763640000012-AddNextBalanceChange.js';
import { AddEligibleTotals1763640000013 } from '../migrations/1763640000013-AddEligibleTotals.js';
import { AddOrderVersions1763640000015 } from '../migrations/1763640000015-AddOrderVersions.js';
import { IndexOrderCompletions1763640000016 } from '../migrations/1763640000016-IndexOrderCompletions.js';
import { IndexRefunds1763640000017 } from '../migrations/1763640000017-IndexRefunds.js';
import { AddGrantVoids1763640000018 } from '../migrations/1763640000018-AddGrantVoids.js';
import { AddComebacks1763640000019 } from '../migrations/1763640000019-AddComebacks.js';
import { AddMerchantIds1763640000020 } from '../migrations/1763640000020-AddMerchantIds.js';

/** All entities, and all migrations in the order in which they run. Add each new file of `migrations/` here. */
export const SCHEMA = {
  entities: [
    Merchant,
    ApiUser,
    Session,
    TokenSet,
    Wallet,
    Credit,
    Hold,
    Entry,
    Grant,
    Order,
    Refund,
    RateLimit,
    AuditRecord,
  ],
  migrations: [
    CreateMerchants1763640000000,
    CreateTokens1763640000001,
    CreateWallets1763640000002,
    CreateOrders1763640000003,
    CreateLedger1763640000004,
    CreateRateLimits1763640000005,
    AddOpenCredits1763640000006,
    IndexOrderStatus1763640000007,
    AddWalletBalances1763640000008,
    LoosenLedger1763640000009,
    AddGrantsAndAuditLog1763640000011,
    AddNextBalanceChange1763640000012,
    AddEligibleTotals1763640000013,
    AddOrderVersions1763640000015,
    IndexOrderCompletions1763640000016,
    IndexRefunds1763640000017,
    AddGrantVoids1763640000018,
    AddComebacks1763640000019,
    AddMerchantIds1763640000020,
  ],
} satisfies Schema;

/** Returns a data source for the whole schema, not yet connected. */
export function createDataSource(url: string, poolSize = 2): DataSource {
  return new DataSource(dataSourceOptions(SCHEMA, url, poolSize));
}
