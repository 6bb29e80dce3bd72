import { Body, Controller, HttpCode, Ip, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '../platform/openapi/decorators.js';
import { AuthService } from './auth.service.js';
import { PASSWORDS, REQUESTS } from '../platform/rate-limits/rate-limiter.js';
import { RateLimit } from '../platform/http/rate-limit.guard.js';
import { type Caller } from '../platform/values/caller.js';
import { Heavy } from '../platform/http/admission.js';
import { CurrentCaller, Public, Requires } from '../platform/http/decorators.js';
import { ConfigurationUserTokensDto, LoginDto, RefreshTokenDto } from './auth.dto.js';
import { ChangePasswordDto } from './user.dto.js';
import { UsersService } from './users.service.js';

@ApiTags('auth')
@Controller('auth')
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly users: UsersService,
  ) {}

  /**
   * Log in
   *
   * @remarks Exchanges the email and password of an API user for a token set. Each login starts a session of its own.
   */
  @Post('login')
  @Public()
  @ApiProblems('invalid_credentials')
  login(@Body() body: LoginDto, @Ip() address: string | undefined): Promise<ConfigurationUserTokensDto> {
    return this.auth.login(body, address);
  }

  /**
   * Refresh a token set
   *
   * @remarks Each refresh token works once. If you send it again within the retry window
   * (`REFRESH_RETRY_WINDOW_SECONDS`, 30 by default) and the returned token set has not been refreshed yet, you get the
   * identical token set. After that, the token is treated as stolen and the whole session is revoked.
   */
  @Post('refresh')
  @Public()
  @RateLimit(REQUESTS)
  @ApiProblems('invalid_refresh_token')
  refreshTokens(@Body() body: RefreshTokenDto): Promise<ConfigurationUserTokensDto> {
    return this.auth.refresh(body);
  }

  /**
   * Log out
   *
   * @remarks Revokes the session: all access and refresh tokens that descend from the login stop working immediately.
   */
  @Post('logout')
  @HttpCode(204)
  @Requires()
  @ApiProblems('missing_token', 'invalid_token')
  logout(@CurrentCaller() caller: Caller): Promise<void> {
    return this.auth.logout(caller);
  }

  /**
   * Change your own password
   *
   * @remarks Changes the password of the API user of the token, and ends its other sessions. A wrong current password
   * counts as a failed login.
   */
  @Post('password')
  @RateLimit(PASSWORDS)
  @Heavy()
  @HttpCode(204)
  @Requires()
  @ApiProblems('missing_token', 'invalid_token', 'wrong_password')
  changePassword(
    @CurrentCaller() caller: Caller,
    @Body() body: ChangePasswordDto,
    @Ip() address: string | undefined,
  ): Promise<void> {
    return this.users.changePassword(caller, body, address);
  }
}
