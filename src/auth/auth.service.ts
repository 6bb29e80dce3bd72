import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { after, Clock, SECOND_MS } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { Problem } from '../common/problem.js';
import { Config } from '../config/config.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { ApiUser } from './api-user.entity.js';
import { ApiUsersService } from './api-users.service.js';
import { Passwords } from './passwords.js';
import { LoginLimit } from '../rate-limits/login-limit.js';
import { RefreshLimit } from '../rate-limits/refresh-limit.js';
import type { Caller } from '../http/caller.js';
import type { ConfigurationUserTokensDto } from './dto/configuration-user-tokens.dto.js';
import type { LoginDto } from './dto/login.dto.js';
import type { RefreshTokenDto } from './dto/refresh-token.dto.js';
import { Session } from './session.entity.js';
import { SessionsService } from './sessions.service.js';
import { TokenSet } from './token-set.entity.js';
import { TokenSetsService } from './token-sets.service.js';
import { digest, randomPair, successorKey, successorOf, type TokenPair } from './tokens.js';

/** Log-in, renewal and log-out of API users. (Specification 4.1, 4.2 and 5; contract, section 2) */
@Injectable()
export class AuthService {
  readonly #log = new Logger('Security');
  readonly #successorKey: Buffer;

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly apiUsers: ApiUsersService,
    private readonly passwords: Passwords,
    private readonly tokenSets: TokenSetsService,
    private readonly sessions: SessionsService,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly loginLimit: LoginLimit,
    private readonly refreshLimit: RefreshLimit,
  ) {
    this.#successorKey = successorKey(config.JWT_SECRET);
  }

  /**
   * Begins a session.
   *
   * @param address where the request came from.
   * @param signal aborted once nobody waits for the answer.
   * @throws Problem invalid_credentials, the same and as late for an unknown e-mail, a wrong password and a disabled user;
   *   too_many_requests after too many of them.
   */
  async login(
    { email, password }: LoginDto,
    address: string | undefined,
    signal: AbortSignal,
  ): Promise<ConfigurationUserTokensDto> {
    const attempt = { email, address };
    await this.loginLimit.admit(attempt);
    const user = await this.apiUsers.findByEmail(email);
    const known = await this.passwords.verify(password, user?.passwordHash, signal);
    if (!known || user === null || user.disabledAt !== null) {
      await this.loginLimit.failed(attempt);
      throw new Problem('invalid_credentials', { detail: 'e-mail or password is wrong' });
    }
    await this.loginLimit.succeeded(attempt);
    return this.unitOfWork.transaction(async (manager) => {
      const now = this.clock.now();
      const session: Session = {
        id: newId(now),
        apiUserId: user.id,
        createdAt: now,
        expiresAt: after(now, this.config.SESSION_TTL_SECONDS * SECOND_MS),
        revokedAt: null,
      };
      await manager.insert(Session, session);
      const pair = randomPair();
      return toDto(pair, await this.tokenSets.issue(manager, session, user, pair, now));
    });
  }

  /**
   * Renews a token set. A refresh token works once; within the retry window, while its successor has not
   * been used either, it brings the same successor to the letter. After that it is taken for stolen.
   *
   * @throws Problem invalid_refresh_token, too_many_requests.
   */
  async refresh({ refresh_token: refreshToken }: RefreshTokenDto): Promise<ConfigurationUserTokensDto> {
    // Before the transaction: no use case takes a second connection inside one.
    const sessionId = await this.tokenSets.sessionIdOf(refreshToken);
    if (sessionId !== undefined) await this.refreshLimit.count(sessionId);
    const tokens = await this.unitOfWork.transaction((manager) => this.#rotate(manager, refreshToken));
    // Thrown out here, so that a revocation stays committed.
    if (tokens === undefined) {
      throw new Problem('invalid_refresh_token', {
        detail: 'the refresh token is unknown, expired, used or revoked: log in again',
      });
    }
    return tokens;
  }

  /** Ends the caller's session with every token of it. */
  async logout(caller: Caller): Promise<void> {
    await this.unitOfWork.transaction(async (manager) => {
      const { sessionId } = await manager.findOneByOrFail(TokenSet, { id: caller.tokenSetId });
      await this.sessions.revoke(manager, sessionId);
    });
  }

  /** The session's row is the lock of its family: of many who refresh at once, one rotates. */
  async #rotate(manager: EntityManager, refreshToken: string): Promise<ConfigurationUserTokensDto | undefined> {
    const found = await manager.findOneBy(TokenSet, { refreshHash: digest(refreshToken) });
    if (found === null) return undefined;
    const session = await manager.findOne(Session, {
      where: { id: found.sessionId },
      lock: { mode: 'pessimistic_write' },
    });
    // Pruned just now: it had ended long ago.
    if (session === null) return undefined;
    const user = await manager.findOneByOrFail(ApiUser, { id: session.apiUserId });
    const now = this.clock.now();
    if (session.revokedAt !== null || session.expiresAt <= now || user.disabledAt !== null) return undefined;

    const pair = successorOf(refreshToken, this.#successorKey);
    const { rotatedAt, refreshExpiresAt } = await manager.findOneByOrFail(TokenSet, { id: found.id });
    if (rotatedAt === null) {
      if (refreshExpiresAt <= now) return undefined;
      await manager.update(TokenSet, { id: found.id }, { rotatedAt: now });
      return toDto(pair, await this.tokenSets.issue(manager, session, user, pair, now));
    }
    const successor = await manager.findOneBy(TokenSet, { refreshHash: digest(pair.refreshToken) });
    const isRetry = now <= after(rotatedAt, this.config.REFRESH_RETRY_WINDOW_SECONDS * SECOND_MS);
    if (isRetry && successor?.rotatedAt === null) return toDto(pair, successor);

    await this.sessions.revoke(manager, session.id);
    this.#log.warn({
      event: 'refresh_token_reused',
      session_id: session.id,
      api_user_id: user.id,
      merchant_id: user.merchantId,
    });
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
