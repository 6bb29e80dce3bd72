import type { KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import type { EntityManager } from 'typeorm';
import { after, Clock, SECOND_MS } from '../platform/values/time.js';
import { newId } from '../platform/values/ids.js';
import { type Shared } from '../platform/database/shared.js';
import { SharedStatements } from '../platform/database/shared.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { Config } from '../platform/config/config.js';
import { type Permission } from '../platform/values/caller.js';
import { type ApiUser, permissionsFrom } from './api-user.entity.js';
import { type Session } from './session.entity.js';
import { TokenSet } from './session.entity.js';
import { digest, looksIssued, looksLikeRefreshToken, tokenKeys, type TokenPair } from './tokens.js';

/** What may change while a token lives is read here; the JWT has only the identity. */
const LIVE_TOKENS_SQL = `
  SELECT t.access_hash, t.jwt, u.permissions
    FROM token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id
   WHERE t.access_hash IN (?) AND t.access_expires_at > ? AND s.expires_at > ? AND s.revoked_at IS NULL AND u.disabled_at IS NULL`;

/** Uses the database's clock, which all instances share. */
const IS_RECENT_SQL =
  'SELECT rotated_at >= UTC_TIMESTAMP(3) - INTERVAL ? SECOND AS is_recent FROM token_sets WHERE id = ?';

interface LiveToken {
  jwt: string;
  permissions: Permission[];
}

/** Issues token sets, and swaps an access token for the JWT that was issued with it (the phantom token pattern). */
@Injectable()
export class TokenSetsService {
  readonly #keys: KeyObject[];
  readonly #tokens: Shared<Buffer, LiveToken | undefined>;

  constructor(
    shared: SharedStatements,
    private readonly unitOfWork: UnitOfWork,
    private readonly jwt: JwtService,
    private readonly config: Config,
    clock: Clock,
  ) {
    this.#keys = tokenKeys(config);
    this.#tokens = shared.create('tokens', (manager, hashes) => liveTokens(manager, hashes, clock.now()));
  }

  /** Issues a pair as the next token set of a session. No token outlives the session. */
  async issue(manager: EntityManager, session: Session, user: ApiUser, pair: TokenPair, now: Date): Promise<TokenSet> {
    const id = newId(now);
    const accessExpiresAt = earlier(after(now, this.config.ACCESS_TOKEN_TTL_SECONDS * SECOND_MS), session.expiresAt);
    const tokenSet: TokenSet = {
      id,
      sessionId: session.id,
      accessHash: digest(pair.accessToken),
      refreshHash: digest(pair.refreshToken),
      jwt: await this.jwt.signAsync({
        sub: user.id,
        merchant_id: user.merchantId,
        sid: session.id,
        jti: id,
        iat: Math.floor(now.getTime() / SECOND_MS),
        // A JWT has whole seconds. The row has the exact instant.
        exp: Math.ceil(accessExpiresAt.getTime() / SECOND_MS),
      }),
      createdAt: now,
      accessExpiresAt,
      refreshExpiresAt: earlier(after(now, this.config.REFRESH_TOKEN_TTL_SECONDS * SECOND_MS), session.expiresAt),
      rotatedAt: null,
    };
    await manager.insert(TokenSet, tokenSet);
    return tokenSet;
  }

  /** Used refresh tokens have a session, too. */
  async sessionIdOf(refreshToken: string): Promise<string | undefined> {
    if (!looksLikeRefreshToken(refreshToken)) return undefined;
    const found = await this.unitOfWork.statement((manager) =>
      manager.findOne(TokenSet, { select: { sessionId: true }, where: { refreshHash: digest(refreshToken) } }),
    );
    return found?.sessionId;
  }

  async markRotated(manager: EntityManager, id: string): Promise<void> {
    await manager.update(TokenSet, { id }, { rotatedAt: () => 'UTC_TIMESTAMP(3)' });
  }

  async isWithinRetryWindow(manager: EntityManager, id: string): Promise<boolean> {
    const values = [this.config.REFRESH_RETRY_WINDOW_SECONDS, id];
    const [row] = await manager.query<{ is_recent: number }[]>(IS_RECENT_SQL, values);
    return Number(row?.is_recent) === 1;
  }

  /**
   * Swaps an access token for its JWT, and reads the permissions of its user. A made-up token costs no database query.
   *
   * @returns undefined if the token is unknown, expired or revoked, or its user is disabled.
   */
  async swap(accessToken: string): Promise<LiveToken | undefined> {
    if (!looksIssued(accessToken, this.#keys)) return undefined;
    return this.#tokens.get(digest(accessToken));
  }
}

interface LiveTokenRow {
  access_hash: Buffer;
  jwt: string;
  permissions: string;
}

async function liveTokens(
  manager: EntityManager,
  hashes: readonly Buffer[],
  now: Date,
): Promise<(LiveToken | undefined)[]> {
  const keys = hashes.map((hash) => hash.toString('hex'));
  // Requests with the same token need it once.
  const distinct = [...new Map(keys.map((key, index) => [key, hashes[index]])).values()];
  const rows = await manager.query<LiveTokenRow[]>(LIVE_TOKENS_SQL, [distinct, now, now]);
  const tokens = new Map(
    rows.map(({ access_hash, jwt, permissions }): [string, LiveToken] => {
      return [access_hash.toString('hex'), { jwt, permissions: permissionsFrom(permissions) }];
    }),
  );
  return keys.map((key) => tokens.get(key));
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b;
}
