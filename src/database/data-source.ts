import { DataSource, type DataSourceOptions } from 'typeorm';
import { ApiUser } from '../auth/api-user.entity.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { Session } from '../auth/session.entity.js';
import { TokenSet } from '../auth/token-set.entity.js';
import { Credit } from '../cashback/credit.entity.js';
import { Entry } from '../cashback/entry.entity.js';
import { Hold } from '../cashback/hold.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { Order } from '../orders/order.entity.js';
import { Refund } from '../orders/refund.entity.js';
import { RateLimit } from '../rate-limits/rate-limit.entity.js';
import { CreateMerchants1763640000000 } from '../../migrations/1763640000000-CreateMerchants.js';
import { CreateTokens1763640000001 } from '../../migrations/1763640000001-CreateTokens.js';
import { CreateWallets1763640000002 } from '../../migrations/1763640000002-CreateWallets.js';
import { CreateOrders1763640000003 } from '../../migrations/1763640000003-CreateOrders.js';
import { CreateLedger1763640000004 } from '../../migrations/1763640000004-CreateLedger.js';
import { CreateRateLimits1763640000005 } from '../../migrations/1763640000005-CreateRateLimits.js';
import { AddOpenCredits1763640000006 } from '../../migrations/1763640000006-AddOpenCredits.js';
import { driver } from './pool.js';

/**
 * The one description of the database: for the service, for the migration commands and for the tests.
 *
 * @param url `mysql://…` or `mariadb://…`; the scheme chooses TypeORM's dialect.
 * @param poolSize connections of this process at the most.
 */
export function dataSourceOptions(url: string, poolSize: number): DataSourceOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  return {
    type: protocol === 'mariadb:' ? 'mariadb' : 'mysql',
    driver,
    host: hostname,
    port: Number(port || 3306),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    charset: 'utf8mb4',
    // A stack for every statement, kept in case that it fails, costs more than most statements.
    trace: false,
    // Instants travel and rest in UTC, whatever the zone of the server or of this machine.
    timezone: 'Z',
    bigNumberStrings: false,
    synchronize: false,
    migrationsRun: false,
    connectTimeout: 3000,
    logging: false,
    // TypeORM's own logger would print a slow query with its parameters: documents in the clear.
    logger: 'debug',
    poolSize,
    extra: { queueLimit: 5000, enableKeepAlive: true },
    entities: [Merchant, ApiUser, Session, TokenSet, Wallet, Credit, Hold, Entry, Order, Refund, RateLimit],
    migrations: [
      CreateMerchants1763640000000,
      CreateTokens1763640000001,
      CreateWallets1763640000002,
      CreateOrders1763640000003,
      CreateLedger1763640000004,
      CreateRateLimits1763640000005,
      AddOpenCredits1763640000006,
    ],
  };
}

export function createDataSource(url: string, poolSize = 2): DataSource {
  return new DataSource(dataSourceOptions(url, poolSize));
}
