import { Body, Get, HttpCode, Post, Put, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { Heavy } from '../platform/http/admission.js';
import { CurrentCaller, IdParam, MerchantController, Requires } from '../platform/http/decorators.js';
import { PageQueryDto } from '../platform/http/page-query.dto.js';
import { RateLimit } from '../platform/http/rate-limit.guard.js';
import { PASSWORDS } from '../platform/rate-limits/rate-limiter.js';
import { markCreated } from '../platform/http/responses.js';
import { ApiProblems, headerReferences } from '../platform/openapi/decorators.js';
import { type Caller } from '../platform/values/caller.js';
import { ChangeUserDto, CreateUserDto, MeDto, UserDto, UserPageDto, UserWithPasswordDto } from './user.dto.js';
import { UsersService } from './users.service.js';

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
