import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { createHmac, hash, type KeyObject, randomBytes } from 'node:crypto';
import { type EntityManager, In, IsNull, Not } from 'typeorm';
import { v4 } from 'uuid';
import { Config, derivedKeys, type SigningSecrets } from '../platform/config/config.js';
import { type Shared, SharedStatements } from '../platform/database/shared.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { type Permission } from '../platform/values/caller.js';
import { newId } from '../platform/values/ids.js';
import { after, Clock, SECOND_MS } from '../platform/values/time.js';
import { type ApiUser, permissionsFrom, Session, TokenSet } from './api-user.entity.js';

/** A token is opaque: `<prefix><uuid>`. Secret scanners recognize the prefix. */
export const ACCESS_PREFIX = 'cbat_';
export const REFRESH_PREFIX = 'cbrt_';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const TAG_DIGITS = 8;

export interface TokenPair {
  accessToken: string;
  refreshToken: string;
}

export function randomPair(key: KeyObject): TokenPair {
  return pairOf(() => randomBytes(16), key);
}

/** The keys that tag access tokens and derive successors. The key of the current secret comes first. */
export function tokenKeys(config: SigningSecrets): [KeyObject, ...KeyObject[]] {
  return derivedKeys(config, 'cashback token successor');
}

/**
 * Returns the pair that follows a refresh token. It is always the same pair, so that a retry gets the identical
 * response although no token is stored in plain text.
 */
export function successorOf(refreshToken: string, key: KeyObject): TokenPair {
  return pairOf((kind) => createHmac('sha256', key).update(`${kind}:${refreshToken}`).digest(), key);
}

/**
 * Returns whether an access token has the form and the tag of one that this service issued. It may still be expired or
 * revoked. One in four billion made-up tokens passes; all others are refused without a database query.
 *
 * @param keys the keys of all secrets that the service accepts.
 */
export function looksIssued(accessToken: string, keys: KeyObject[]): boolean {
  if (!accessToken.startsWith(ACCESS_PREFIX) || !UUID.test(accessToken.slice(ACCESS_PREFIX.length))) return false;
  const untagged = accessToken.slice(0, -TAG_DIGITS);
  return keys.some((key) => untagged + tagOf(untagged, key) === accessToken);
}

export function looksLikeRefreshToken(token: string): boolean {
  return token.startsWith(REFRESH_PREFIX) && UUID.test(token.slice(REFRESH_PREFIX.length));
}

/** A token is random, so one fast hash is enough. */
export function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function pairOf(bytesOf: (kind: 'access' | 'refresh') => Buffer, key: KeyObject): TokenPair {
  const untagged = (ACCESS_PREFIX + uuidOf(bytesOf('access'))).slice(0, -TAG_DIGITS);
  return { accessToken: untagged + tagOf(untagged, key), refreshToken: REFRESH_PREFIX + uuidOf(bytesOf('refresh')) };
}

/** Without the key, a tag is as random as the digits it replaces, so it does not make tokens easier to guess. */
function tagOf(untagged: string, key: KeyObject): string {
  return createHmac('sha256', key).update(`tag:${untagged}`).digest('hex').slice(0, TAG_DIGITS);
}

const uuidOf = (bytes: Buffer): string => v4({ random: bytes });

/** Sessions per transaction, few enough that no request has to wait. */
const BATCH = 200;

/** A session has also ended when none of its tokens is valid any longer, even before `expires_at`. */
const ENDED_SQL = `
  SELECT s.id
    FROM sessions s
   WHERE s.id > ? AND (s.expires_at < ? OR s.revoked_at < ? OR NOT EXISTS (
         SELECT 1 FROM token_sets t WHERE t.session_id = s.id AND (t.refresh_expires_at >= ? OR t.access_expires_at >= ?)))
   ORDER BY s.id
   LIMIT ?`;

const OPEN_SQL = `
  SELECT api_user_id AS id, COUNT(*) AS open FROM sessions
   WHERE api_user_id IN (?) AND revoked_at IS NULL AND expires_at > ? GROUP BY api_user_id`;

const LATEST = 20;

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

/**
 * Sessions and their token sets. An access token is swapped for the JWT that was issued with it (the phantom token
 * pattern).
 */
@Injectable()
export class SessionsService {
  readonly #keys: KeyObject[];
  readonly #tokens: Shared<Buffer, LiveToken | undefined>;

  constructor(
    shared: SharedStatements,
    private readonly unitOfWork: UnitOfWork,
    private readonly jwt: JwtService,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {
    this.#keys = tokenKeys(config);
    this.#tokens = shared.createStatement('tokens', (manager, hashes) => liveTokens(manager, hashes, clock.now()));
  }

  async revoke(manager: EntityManager, sessionId: string): Promise<void> {
    await manager.update(Session, { id: sessionId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  /** @param kept the ID of the session that stays. */
  async revokeAllOf(manager: EntityManager, apiUserId: string, kept: string): Promise<void> {
    await manager.update(Session, { apiUserId, id: Not(kept), revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  /** Counts the sessions of users that are neither revoked nor over, by user. */
  async countOpen(manager: EntityManager, apiUserIds: readonly string[]): Promise<Map<string, number>> {
    if (apiUserIds.length === 0) return new Map();
    const rows = await manager.query<{ id: string; open: string }[]>(OPEN_SQL, [apiUserIds, this.clock.now()]);
    return new Map(rows.map(({ id, open }) => [id, Number(open)]));
  }

  latestOf(apiUserId: string): Promise<Session[]> {
    const order = { createdAt: 'DESC' } as const;
    return this.unitOfWork.statement((manager) => manager.find(Session, { where: { apiUserId }, order, take: LATEST }));
  }

  /**
   * Deletes sessions that ended before an instant, with their token sets: sessions that expired, were revoked, or were
   * not refreshed in time. Until then they are kept to investigate token theft.
   */
  async prune(endedBefore: Date): Promise<{ sessions: number; token_sets: number }> {
    const deleted = { sessions: 0, token_sets: 0 };
    for (let lastId = ''; ;) {
      const values = [lastId, endedBefore, endedBefore, endedBefore, endedBefore, BATCH];
      const ended = await this.unitOfWork.statement((manager) => manager.query<{ id: string }[]>(ENDED_SQL, values));
      if (ended.length === 0) return deleted;
      const ids = ended.map(({ id }) => id);
      lastId = ids.at(-1) ?? lastId;
      const [tokenSets, sessions] = await this.unitOfWork.transaction(async (manager) => [
        await manager.delete(TokenSet, { sessionId: In(ids) }),
        await manager.delete(Session, { id: In(ids) }),
      ]);
      deleted.sessions += sessions?.affected ?? 0;
      deleted.token_sets += tokenSets?.affected ?? 0;
    }
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
