import { Injectable, Logger } from '@nestjs/common';
import { type KeyObject } from 'node:crypto';
import { type EntityManager } from 'typeorm';
import { Config } from '../platform/config/config.js';
import { LOCKED } from '../platform/database/rows.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { RateLimiter, REFRESH } from '../platform/rate-limits/rate-limiter.js';
import { type Caller } from '../platform/values/caller.js';
import { Recorder } from '../platform/values/domain-event.js';
import { newId } from '../platform/values/ids.js';
import { Problem, unavailable } from '../platform/values/problem.js';
import { after, Clock, SECOND_MS } from '../platform/values/time.js';
import { ApiUser, Session, TokenSet } from './api-user.entity.js';
import { ApiUsersService, canonicalEmail } from './api-users.service.js';
import { type ConfigurationUserTokensDto, type LoginDto, type RefreshTokenDto } from './auth.dto.js';
import { type LoginAttempt, LoginLimit } from './login-limit.js';
import { Passwords } from './passwords.js';
import { digest, randomPair, SessionsService, successorOf, tokenKeys, type TokenPair } from './sessions.service.js';

const LOGIN_TRIES = 3;

interface Started {
  tokens: ConfigurationUserTokensDto;
  sessionId: string;
}

@Injectable()
export class AuthService {
  readonly #log = new Logger('Security');
  /** The key of the signing secret comes first. */
  readonly #keys: [KeyObject, ...KeyObject[]];

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly apiUsers: ApiUsersService,
    private readonly passwords: Passwords,
    private readonly sessions: SessionsService,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly loginLimit: LoginLimit,
    private readonly rateLimiter: RateLimiter,
  ) {
    this.#keys = tokenKeys(config);
  }

  /**
   * Starts a session.
   *
   * @param address the client's address.
   * @throws Problem invalid_credentials, with the same response and after the same work for an unknown email, a wrong
   *   password and a disabled user; too_many_requests after too many failures; unavailable if the user kept changing.
   */
  async login(login: LoginDto, address: string | undefined): Promise<ConfigurationUserTokensDto> {
    const user = await this.apiUsers.findByEmail(login.email);
    const who = { api_user_id: user?.id ?? null, merchant_id: user?.merchantId ?? null, client: address };
    try {
      const attempt = await this.loginLimit.admit(canonicalEmail(login.email), who.api_user_id, address);
      const { tokens, sessionId } = await this.#verify(login, attempt);
      this.#log.log({ event: 'login', ...who, session_id: sessionId });
      return tokens;
    } catch (error) {
      if (error instanceof Problem) this.#log.log({ event: 'login_refused', ...who, code: error.code });
      throw error;
    }
  }

  async #verify({ email, password }: LoginDto, attempt: LoginAttempt): Promise<Started> {
    for (let tries = 1; tries <= LOGIN_TRIES; tries++) {
      const user = await this.apiUsers.findByEmail(email);
      const commonCost = await this.apiUsers.commonCost();
      const known = await this.passwords.verify({ ...attempt, password }, user?.passwordHash, commonCost);
      if (!known || user === null || user.disabledAt !== null) {
        await this.loginLimit.failed(attempt);
        throw new Problem('invalid_credentials');
      }
      await this.loginLimit.succeeded(attempt);
      const isOutdated = this.passwords.isOutdated(user.passwordHash);
      const rehashed = isOutdated ? await this.passwords.hash(password, attempt.network) : undefined;
      const started = await this.unitOfWork.transaction((manager) => this.#startSession(manager, user, rehashed));
      if (started !== undefined) return started;
    }
    throw unavailable(new Error('the user changed each time its password was verified'));
  }

  /**
   * Refreshes a token set. A refresh token works once. Within the retry window, and while its successor has not been
   * used, it returns the identical successor. After that it counts as stolen.
   *
   * @throws Problem invalid_refresh_token, too_many_requests.
   */
  async refresh({ refresh_token: refreshToken }: RefreshTokenDto): Promise<ConfigurationUserTokensDto> {
    // Before the transaction: no use case takes a second connection inside one.
    const sessionId = await this.sessions.sessionIdOf(refreshToken);
    if (sessionId === undefined) throw new Problem('invalid_refresh_token');
    await this.rateLimiter.count([REFRESH], [sessionId]);
    const tokens = await this.unitOfWork.transaction((manager, record) => this.#rotate(manager, refreshToken, record));
    // Thrown outside the transaction, so that a revocation is committed.
    if (tokens === undefined) throw new Problem('invalid_refresh_token');
    return tokens;
  }

  async logout(caller: Caller): Promise<void> {
    await this.unitOfWork.statement((manager) => this.sessions.revoke(manager, caller.sessionId));
  }

  /**
   * Verifying a password is slow, so no lock is held meanwhile. Afterwards the user's row is locked and compared with
   * the one that was verified.
   *
   * @returns undefined if the password was changed or the user was disabled since the verification.
   */
  async #startSession(
    manager: EntityManager,
    verified: ApiUser,
    rehashed: string | undefined,
  ): Promise<Started | undefined> {
    const [user] = await this.apiUsers.lock(manager, [verified.id]);
    if (user === undefined || user.passwordHash !== verified.passwordHash || user.disabledAt !== null) return undefined;
    const now = this.clock.now();
    const passwordHash = rehashed ?? user.passwordHash;
    await manager.update(ApiUser, { id: user.id }, { passwordHash, lastLoginAt: now });
    const session: Session = {
      id: newId(now),
      apiUserId: user.id,
      createdAt: now,
      expiresAt: after(now, this.config.SESSION_TTL_SECONDS * SECOND_MS),
      revokedAt: null,
    };
    await manager.insert(Session, session);
    const pair = randomPair(this.#keys[0]);
    const tokens = toDto(pair, await this.sessions.issue(manager, session, user, pair, now));
    return { tokens, sessionId: session.id };
  }

  /** The session's row is the lock for all its token sets: of several concurrent refreshes, one rotates. */
  async #rotate(
    manager: EntityManager,
    refreshToken: string,
    record: Recorder,
  ): Promise<ConfigurationUserTokensDto | undefined> {
    const found = await manager.findOneBy(TokenSet, { refreshHash: digest(refreshToken) });
    if (found === null) return undefined;
    const session = await manager.findOne(Session, { where: { id: found.sessionId }, lock: LOCKED });
    // Deleted by a concurrent `sessions prune`, so it ended long ago.
    if (session === null) return undefined;
    const user = await manager.findOneByOrFail(ApiUser, { id: session.apiUserId });
    const now = this.clock.now();
    if (session.revokedAt !== null || session.expiresAt <= now || user.disabledAt !== null) return undefined;

    const [pair, ...others] = this.#keys.map((key) => successorOf(refreshToken, key)) as [TokenPair, ...TokenPair[]];
    const { rotatedAt, refreshExpiresAt } = await manager.findOneByOrFail(TokenSet, { id: found.id });
    if (rotatedAt === null) {
      if (refreshExpiresAt <= now) return undefined;
      await this.sessions.markRotated(manager, found.id);
      return toDto(pair, await this.sessions.issue(manager, session, user, pair, now));
    }
    if (await this.sessions.isWithinRetryWindow(manager, found.id)) {
      const retried = await this.#unusedSuccessor(manager, [pair, ...others]);
      if (retried !== undefined) return retried;
    }

    await this.sessions.revoke(manager, session.id);
    record({ type: 'session.theft_detected' });
    this.#log.warn({
      event: 'refresh_token_reused',
      session_id: session.id,
      api_user_id: user.id,
      merchant_id: user.merchantId,
    });
    return undefined;
  }

  /** Looks for the successor under each key, because an instance with another signing secret may have derived it. */
  async #unusedSuccessor(manager: EntityManager, pairs: TokenPair[]): Promise<ConfigurationUserTokensDto | undefined> {
    for (const pair of pairs) {
      const successor = await manager.findOneBy(TokenSet, { refreshHash: digest(pair.refreshToken) });
      if (successor !== null) return successor.rotatedAt === null ? toDto(pair, successor) : undefined;
    }
    return undefined;
  }
}

function toDto(pair: TokenPair, tokenSet: TokenSet): ConfigurationUserTokensDto {
  return {
    access_token: pair.accessToken,
    access_token_expire_at: tokenSet.accessExpiresAt,
    refresh_token: pair.refreshToken,
  };
}
