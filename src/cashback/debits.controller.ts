import { Body, Get, HttpCode, Post, Query, Res } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { type Response } from 'express';
import { Reads } from '../platform/database/reads.js';
import { Heavy, LocksRows } from '../platform/http/admission.js';
import { answer, markCreated } from '../platform/http/app-request.js';
import { CurrentCaller, IdParam, MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { ListFile } from '../platform/http/response.interceptor.js';
import { VoidDto } from '../platform/http/void.dto.js';
import { ApiCreated, ApiProblems, ApiReplays } from '../platform/openapi/decorators.js';
import { type Caller } from '../platform/values/caller.js';
import { CreateDebitDto, DEBIT_COLUMNS, DebitDto, DebitPageDto } from './debit.dto.js';
import { DEBITS } from './debits.list.js';
import { DebitsService } from './debits.service.js';
import { MadeQueryDto } from './grant.dto.js';

@MerchantController('debits', 'debits')
export class DebitsController {
  constructor(
    private readonly debits: DebitsService,
    private readonly reads: Reads,
  ) {}

  /**
   * Take cashback from a customer
   *
   * @remarks Takes cashback that a customer should not have: first what can be spent, then what is pending, each by
   * expiry; never what orders hold. `external_id` is the idempotency key: the same content again returns 201 with the
   * current debit and `Idempotency-Replayed: true`. Different content returns 409.
   */
  @Post()
  @Requires('debits')
  @LocksRows()
  @ApiCreated(DebitDto, 'The debit in its current state')
  @ApiProblems.create('debit_exceeds_balance')
  async createDebit(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateDebitDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DebitDto> {
    const { dto, replayed } = await this.debits.create(caller, body);
    markCreated(response, `/debits/${dto.id}`, replayed);
    return dto;
  }

  /**
   * List debits
   *
   * @remarks Returns the merchant's debits in their current state, newest first, one page at a time. Continue with
   * `next_cursor` until it is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ListFile('debits', DebitPageDto, DEBIT_COLUMNS)
  listDebits(@MerchantId() merchantId: string, @Query() query: MadeQueryDto): Promise<DebitPageDto> {
    return this.reads.page(merchantId, query, DEBITS);
  }

  /**
   * Read a debit
   *
   * @remarks Returns the debit in its current state. A debit of another merchant returns 404.
   */
  @Get(':id')
  @Requires()
  @ApiProblems.read()
  getDebit(@MerchantId() merchantId: string, @IdParam('The debit') id: string): Promise<DebitDto> {
    return this.debits.get(merchantId, id);
  }

  /**
   * Void a debit
   *
   * @remarks Restores what the debit took, to the same credits with their own dates: what has expired meanwhile stays
   * expired, and `not_restored` says how much that is. A repeated request returns the same debit.
   */
  @Post(':id/void')
  @Requires('debits')
  @LocksRows()
  @ApiReplays()
  @HttpCode(200)
  @ApiBody({ type: VoidDto, required: false })
  @ApiProblems.read('validation_failed')
  async voidDebit(
    @CurrentCaller() caller: Caller,
    @IdParam('The debit') id: string,
    @Body() { reason }: VoidDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DebitDto> {
    return answer(response, await this.debits.void(caller, id, reason ?? null));
  }
}
