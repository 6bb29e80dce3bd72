import { Body, Get, HttpCode, Post, Query, Res } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import type { Response } from 'express';
import { Reads } from '../platform/database/reads.js';
import { Heavy, LocksRows } from '../platform/http/admission.js';
import { answer, markCreated } from '../platform/http/app-request.js';
import {
  CurrentCaller,
  IdParam,
  IfMatch,
  MerchantController,
  MerchantId,
  Requires,
} from '../platform/http/decorators.js';
import { PageQueryDto } from '../platform/http/page-query.dto.js';
import { ListFile } from '../platform/http/response.interceptor.js';
import { VoidDto } from '../platform/http/void.dto.js';
import { ApiCreated, ApiProblems, ApiReplays } from '../platform/openapi/decorators.js';
import { type Caller } from '../platform/values/caller.js';
import {
  CreateRefundDto,
  ListRefundsDto,
  QuoteRefundDto,
  REFUND_COLUMNS,
  RefundDto,
  RefundPageDto,
  RefundQuoteDto,
} from './refund.dto.js';
import { REFUNDS, REFUNDS_OF_ORDER } from './refunds.list.js';
import { RefundsService } from './refunds.service.js';

@MerchantController('orders/:id/refunds', 'refunds')
export class RefundsController {
  constructor(
    private readonly refunds: RefundsService,
    private readonly reads: Reads,
  ) {}

  /**
   * Quote a refund
   *
   * @remarks Returns what the refund would do now, and stores nothing. A quote is not binding. Send what you would send
   * in the refund.
   */
  @Post('quote')
  @Requires('refund')
  @HttpCode(200)
  @ApiProblems.write('validation_failed', 'refund_exceeds_total')
  quoteRefund(
    @MerchantId() merchantId: string,
    @IdParam('The order') id: string,
    @Body() body: QuoteRefundDto,
  ): Promise<RefundQuoteDto> {
    return this.refunds.quote(merchantId, id, body);
  }

  /**
   * Refund an order
   *
   * @remarks Refunds a completed order, fully or partially. `external_id` is the idempotency key. Send the `items` that
   * come back and whether also the `rest`; or an `amount`, and with `eligible_amount` how much of it concerns goods of
   * the `eligible_total`: "0.00" for shipping.
   */
  @Post()
  @Requires('refund')
  @LocksRows()
  @ApiCreated(RefundDto, 'The refund')
  @ApiProblems.write('external_id_conflict', 'precondition_failed', 'refund_exceeds_total')
  async createRefund(
    @CurrentCaller() caller: Caller,
    @IdParam('The order') id: string,
    @Body() body: CreateRefundDto,
    @IfMatch() versions: string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RefundDto> {
    const { dto, replayed } = await this.refunds.create(caller, id, body, versions);
    markCreated(response, `/orders/${id}/refunds/${dto.id}`, replayed);
    return dto;
  }

  /**
   * Undo a refund
   *
   * @remarks Undoes a refund that was a mistake: the order and the wallet have what they had before it. It must be the
   * latest change of the order, and what it returned must not have been used: `voidable` says whether it can be undone.
   * Otherwise correct it with a debit or a grant. A repeated request returns the same refund.
   */
  @Post(':refund_id/void')
  @Requires('refund')
  @LocksRows()
  @ApiReplays()
  @HttpCode(200)
  @ApiBody({ type: VoidDto, required: false })
  @ApiProblems.read('validation_failed', 'refund_not_voidable', 'precondition_failed')
  async voidRefund(
    @CurrentCaller() caller: Caller,
    @IdParam('The order') id: string,
    @IdParam('The refund', 'refund_id') refundId: string,
    @Body() { reason }: VoidDto,
    @IfMatch() versions: string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RefundDto> {
    return answer(response, await this.refunds.void(caller, id, refundId, reason ?? null, versions));
  }

  /**
   * Read a refund
   *
   * @remarks Returns what the refund did, and whether it can be undone.
   */
  @Get(':refund_id')
  @Requires()
  @ApiProblems.read()
  getRefund(
    @MerchantId() merchantId: string,
    @IdParam('The order') id: string,
    @IdParam('The refund', 'refund_id') refundId: string,
  ): Promise<RefundDto> {
    return this.refunds.get(merchantId, id, refundId);
  }

  /**
   * List the refunds of an order
   *
   * @remarks Returns the order's refunds, newest first, one page at a time. Continue with `next_cursor` until it is
   * null.
   */
  @Get()
  @Requires()
  @Heavy()
  @ApiProblems.query('not_found')
  listRefunds(
    @MerchantId() merchantId: string,
    @IdParam('The order') id: string,
    @Query() query: PageQueryDto,
  ): Promise<RefundPageDto> {
    return this.reads.page(merchantId, { ...query, orderId: id }, REFUNDS_OF_ORDER);
  }
}

@MerchantController('refunds', 'refunds')
export class RefundListController {
  constructor(private readonly reads: Reads) {}

  /**
   * List all refunds
   *
   * @remarks Returns the refunds of all orders, newest first, one page at a time. Continue with `next_cursor` until it
   * is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ListFile('refunds', RefundPageDto, REFUND_COLUMNS)
  listAllRefunds(@MerchantId() merchantId: string, @Query() query: ListRefundsDto): Promise<RefundPageDto> {
    return this.reads.page(merchantId, query, REFUNDS);
  }
}
