import {
  Body,
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  HttpCode,
  Injectable,
  type NestInterceptor,
  Post,
  Put,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { defer, lastValueFrom, type Observable } from 'rxjs';
import { readRules, toPolicyDto } from '../merchants/policy.dto.js';
import { type AppRequest } from '../platform/http/app-request.js';
import { MerchantController, MerchantId, Public, Requires } from '../platform/http/decorators.js';
import { RateLimit } from '../platform/http/guards.js';
import { ApiProblems } from '../platform/openapi/decorators.js';
import { validationFailed } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { ClockLocks } from './clock-locks.service.js';
import { ClockMoves, isMoving } from './clock-moves.service.js';
import { SandboxMerchants } from './sandbox-merchants.service.js';
import {
  ClockMoveDto,
  CreateSandboxMerchantDto,
  MoveClockDto,
  SandboxClockDto,
  SandboxMerchantDto,
} from './sandbox.dto.js';

const TAG = 'sandbox';

@Controller('sandbox/merchants')
@ApiTags(TAG)
export class SandboxMerchantsController {
  constructor(private readonly merchants: SandboxMerchants) {}

  /**
   * Create a merchant
   *
   * @remarks Creates a merchant and an API user with all permissions. Each run of your tests can have its own merchant.
   * It needs no token; a network can create 1,000 merchants a day. A repeated request creates another one.
   */
  @Post()
  @Public()
  @RateLimit(() => [{ name: 'sandbox-merchants', limit: 1000, windowSeconds: 86_400 }])
  @ApiCreatedResponse({ type: SandboxMerchantDto })
  @ApiProblems('validation_failed')
  async createSandboxMerchant(@Body() { name, policy = {} }: CreateSandboxMerchantDto): Promise<SandboxMerchantDto> {
    const created = await this.merchants.create(name, readRules(policy));
    const { id, email, permissions, name: userName } = created.user;
    return {
      id: created.merchant.id,
      name,
      policy: toPolicyDto(created.merchant.policy),
      user: { id, name: userName, email, permissions, password: created.password },
    };
  }
}

@MerchantController('sandbox/clock', TAG)
@Requires()
export class SandboxClockController {
  constructor(
    private readonly moves: ClockMoves,
    private readonly clock: Clock,
  ) {}

  /**
   * Read the merchant's clock
   *
   * @remarks Returns the time of everything that belongs to the merchant: orders, cashback, events and reports. Until
   * its first move the clock runs; after that it stands still between moves.
   */
  @Get()
  @ApiProblems('missing_token', 'invalid_token')
  async getClock(@MerchantId() merchantId: string): Promise<SandboxClockDto> {
    const clock = await this.moves.read(merchantId);
    const standsAt = clock?.standsAt ?? null;
    return {
      now: standsAt ?? this.clock.now(),
      frozen: standsAt !== null,
      moving: clock !== null && isMoving(clock),
    };
  }

  /**
   * Move the merchant's clock
   *
   * @remarks Moves the clock forward to an instant (`now`) or to the beginning of a local day (`on`), at most five
   * years away and until 2200. It goes through all that is due until then, in order, and stands at each date while that
   * happens: orders expire; cashback becomes available, is announced and expires. `first_sequence` and `last_sequence`
   * are the events of the move. A request takes at most 4 seconds: while `done` is false, send it again. The same
   * request again changes nothing, and returns the same.
   */
  @Put()
  @HttpCode(200)
  @ApiProblems('validation_failed', 'clock_backwards')
  async moveClock(@MerchantId() merchantId: string, @Body() target: MoveClockDto): Promise<ClockMoveDto> {
    if ((target.now === undefined) === (target.on === undefined))
      throw validationFailed([{ pointer: '', detail: 'must have either "now" or "on"' }]);
    const { standsAt, firstSequence, lastSequence } = await this.moves.move(merchantId, target);
    const hasEvents = lastSequence !== null && firstSequence !== null && firstSequence <= lastSequence;
    return {
      now: standsAt!,
      done: lastSequence !== null,
      first_sequence: hasEvents ? firstSequence : null,
      last_sequence: hasEvents ? lastSequence : null,
    };
  }
}

/** Handles each request of a merchant at the instant of its clock, which is not moved meanwhile. */
@Injectable()
export class StandingClockInterceptor implements NestInterceptor {
  constructor(private readonly locks: ClockLocks) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { user } = context.switchToHttp().getRequest<AppRequest>();
    if (user === undefined || context.getClass() === SandboxClockController) return next.handle();
    const handle = (): Promise<unknown> => lastValueFrom(next.handle(), { defaultValue: undefined });
    return defer(() => this.locks.during(user.merchantId, handle));
  }
}
