import { Body, Controller, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import { LoginCounts } from '../auth/login-limit.js';
import { SessionsService } from '../auth/sessions.service.js';
import { UserDto } from '../auth/user.dto.js';
import { UsersService } from '../auth/users.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { readRules } from '../merchants/policy.dto.js';
import { CurrentCaller, IdParam, MerchantId, Requires } from '../platform/http/decorators.js';
import { type Caller, OPERATOR } from '../platform/values/caller.js';
import { after, Clock, DAY_MS } from '../platform/values/time.js';
import { AuditService } from './audit.service.js';
import {
  ChangeMerchantDto,
  CreateMerchantDto,
  EditUserDto,
  type MerchantView,
  PruneSessionsDto,
  RowsDto,
  toMerchantDto,
  UserWorkDto,
  VoidUserGrantsDto,
} from './operator.dto.js';
import { RecordsService } from './records.service.js';

/** Operations that only the command line has. What `Requires` is about a merchant, whom the command line finds. */

const OfOperator = (): ClassDecorator => ApiExtension('x-operator', true) as ClassDecorator;

const ROWS = 100;
const ENDED_DAYS = 30;

@OfOperator()
@Controller('merchants')
@ApiTags('merchants')
export class MerchantsController {
  constructor(private readonly merchants: MerchantsService) {}

  /**
   * Create a merchant
   *
   * @remarks What is not given has its default. A repeated command creates another merchant. Create its first user
   * next.
   */
  @Post()
  async createMerchant(@Body() { name, ...rules }: CreateMerchantDto): Promise<MerchantView> {
    return toMerchantDto(await this.merchants.create(name, readRules(rules)));
  }

  /** List merchants */
  @Get()
  async listMerchants(): Promise<{ data: MerchantView[] }> {
    return { data: (await this.merchants.list()).map(toMerchantDto) };
  }

  /**
   * Change what only the operator sets
   *
   * @remarks Changes the name and the rules that the merchant's users cannot change. For the others, and for why they
   * hold: policy. Existing orders keep their rules.
   */
  @Patch(':id')
  async changeMerchant(
    @IdParam('The merchant') id: string,
    @Body() { name, reason, ...rules }: ChangeMerchantDto,
  ): Promise<MerchantView> {
    const changes = { ...(name !== undefined && { name }), policy: readRules(rules) };
    return toMerchantDto((await this.merchants.set(id, changes, { by: OPERATOR, reason: reason ?? null })).merchant);
  }
}

@OfOperator()
@Controller('users/:id')
@ApiTags('users')
@Requires()
export class OperatorUsersController {
  constructor(
    private readonly users: UsersService,
    private readonly records: RecordsService,
    private readonly counts: LoginCounts,
  ) {}

  /**
   * Change an API user
   *
   * @remarks Changes only what is given, from the user's next request on.
   */
  @Patch()
  editUser(
    @CurrentCaller() caller: Caller,
    @IdParam('The API user') id: string,
    @Body() changes: EditUserDto,
  ): Promise<UserDto> {
    return this.users.edit(caller, id, changes);
  }

  /**
   * Forget the failed logins of an API user
   *
   * @remarks It can log in again at once.
   */
  @Post('unlock')
  @HttpCode(200)
  async unlockUser(@CurrentCaller() caller: Caller, @IdParam('The API user') id: string): Promise<UserDto> {
    await this.counts.forgetFailuresOf(id);
    return this.users.get(caller, id);
  }

  /**
   * Show an API user with its latest sessions
   *
   * @remarks And the failed logins that count against it.
   */
  @Get('record')
  async inspectUser(@CurrentCaller() caller: Caller, @IdParam('The API user') id: string): Promise<object> {
    return { ...(await this.users.get(caller, id)), ...(await this.records.loginsOf(id)) };
  }

  /**
   * Show what an API user did
   *
   * @remarks The grants that it made from an instant on, and the orders that it completed or whose customer it changed.
   */
  @Get('work')
  getUserWork(
    @MerchantId() merchantId: string,
    @IdParam('The API user') id: string,
    @Query() { since, limit = ROWS }: UserWorkDto,
  ): Promise<object> {
    return this.records.workOf({ merchantId, id, since: new Date(since) }, limit);
  }

  /**
   * Void the grants of an API user
   *
   * @remarks Takes back what is left of the grants that it made from an instant on, such as with a stolen token. A
   * repeated command voids what was released since. Look at the same with `work` first.
   */
  @Post('void-grants')
  @HttpCode(200)
  voidUserGrants(
    @MerchantId() merchantId: string,
    @IdParam('The API user') id: string,
    @Body() { since, limit = ROWS, reason }: VoidUserGrantsDto,
  ): Promise<object> {
    return this.records.workOf({ merchantId, id, since: new Date(since) }, limit, {
      reason: reason ?? null,
    });
  }
}

@OfOperator()
@Controller('orders/:id/record')
@ApiTags('orders')
@Requires()
export class OperatorOrdersController {
  constructor(private readonly records: RecordsService) {}

  /**
   * Show an order with its rules and ledger entries
   *
   * @remarks The order, the rules that it keeps, its latest refunds and its latest ledger entries.
   */
  @Get()
  inspectOrder(
    @MerchantId() merchantId: string,
    @IdParam('The order') id: string,
    @Query() { limit = ROWS }: RowsDto,
  ): Promise<object> {
    return this.records.order(merchantId, id, limit);
  }
}

@OfOperator()
@Controller('audit')
@ApiTags('audit')
export class AuditController {
  constructor(private readonly log: AuditService) {}

  /**
   * List changes that operators made
   *
   * @remarks With this command line, latest first: who, when, which command, which IDs.
   */
  @Get()
  async listAudit(@Query() { limit = ROWS }: RowsDto): Promise<{ data: object[] }> {
    return { data: await this.log.list(limit) };
  }
}

@OfOperator()
@Controller('sessions')
@ApiTags('sessions')
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Delete sessions that ended long ago
   *
   * @remarks With their token sets.
   */
  @Post('prune')
  pruneSessions(@Body() { ended_days = ENDED_DAYS }: PruneSessionsDto): Promise<object> {
    return this.sessions.prune(after(this.clock.now(), -ended_days * DAY_MS));
  }
}
