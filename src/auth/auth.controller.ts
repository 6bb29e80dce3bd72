import { Body, Controller, Get, HttpCode, Ip, Post, Put, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { type Response } from 'express';
import { Heavy } from '../platform/http/admission.js';
import { markCreated } from '../platform/http/app-request.js';
import { CurrentCaller, IdParam, MerchantController, Public, Requires } from '../platform/http/decorators.js';
import { RateLimit } from '../platform/http/guards.js';
import { PageQueryDto } from '../platform/http/page-query.dto.js';
import { ApiProblems, headerReferences } from '../platform/openapi/decorators.js';
import { PASSWORDS, REQUESTS } from '../platform/rate-limits/rate-limiter.js';
import { type Caller } from '../platform/values/caller.js';
import { ConfigurationUserTokensDto, LoginDto, RefreshTokenDto } from './auth.dto.js';
import { AuthService } from './auth.service.js';
import {
  ChangePasswordDto,
  ChangeUserDto,
  CreateUserDto,
  MeDto,
  UserDto,
  UserPageDto,
  UserWithPasswordDto,
} from './user.dto.js';
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

@MerchantController('users', 'users')
@Requires('users')
@Heavy()
export class UsersController {
  constructor(private readonly users: UsersService) {}

  /**
   * Create an API user
   *
   * @remarks Creates a user that logs in with the email and the `password` of the response. Only this response has it:
   * if it is lost, the same request returns 409 with the `existing_id`, for which you can make another password. You
   * cannot give a permission that you do not have.
   */
  @Post()
  @RateLimit(PASSWORDS)
  @ApiCreatedResponse({ type: UserWithPasswordDto, headers: headerReferences('Location') })
  @ApiProblems('validation_failed', 'email_taken')
  async createUser(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateUserDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<UserWithPasswordDto> {
    const user = await this.users.create(caller, body);
    markCreated(response, `/users/${user.id}`, false);
    return user;
  }

  /**
   * List API users
   *
   * @remarks Returns the merchant's API users, oldest first, one page at a time.
   */
  @Get()
  @ApiProblems.query()
  listUsers(@CurrentCaller() caller: Caller, @Query() query: PageQueryDto): Promise<UserPageDto> {
    return this.users.list(caller, query);
  }

  /**
   * Read an API user
   *
   * @remarks Returns the user with its last login and its open sessions.
   */
  @Get(':id')
  @ApiProblems.read()
  getUser(@CurrentCaller() caller: Caller, @IdParam('The API user') id: string): Promise<UserDto> {
    return this.users.get(caller, id);
  }

  /**
   * Change an API user
   *
   * @remarks Replaces the name and the permissions, from the user's next request on. A user that is disabled loses its
   * sessions immediately. You can change only users that have no permission that you lack, and not yourself.
   */
  @Put(':id')
  @ApiProblems.read('validation_failed', 'own_user')
  changeUser(
    @CurrentCaller() caller: Caller,
    @IdParam('The API user') id: string,
    @Body() body: ChangeUserDto,
  ): Promise<UserDto> {
    return this.users.change(caller, id, body);
  }

  /**
   * Make a new password for an API user
   *
   * @remarks Generates a `password`, which only this response has, and ends the user's sessions. A repeated request
   * makes another one. You can do so only for users that have no permission that you lack, and not for yourself.
   */
  @Post(':id/password')
  @RateLimit(PASSWORDS)
  @HttpCode(200)
  @ApiProblems.read('own_user')
  renewPassword(@CurrentCaller() caller: Caller, @IdParam('The API user') id: string): Promise<UserWithPasswordDto> {
    return this.users.renewPassword(caller, id);
  }
}

@MerchantController('me', 'users')
@Requires()
export class MeController {
  constructor(private readonly users: UsersService) {}

  /**
   * Read your own API user
   *
   * @remarks Returns the API user of the access token, what it may do now, and its merchant.
   */
  @Get()
  @ApiProblems('missing_token', 'invalid_token')
  getMe(@CurrentCaller() caller: Caller): Promise<MeDto> {
    return this.users.me(caller);
  }
}
