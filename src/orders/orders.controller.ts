import { Body, Get, HttpCode, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiBody, ApiParam } from '@nestjs/swagger';
import { type Response } from 'express';
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
import { ApiCreated, ApiProblems, ApiReplays } from '../platform/openapi/decorators.js';
import { type Caller } from '../platform/values/caller.js';
import { textPattern } from '../platform/values/texts.js';
import { ChangeCustomerDto, CustomerChangeDto } from './customer-change.dto.js';
import { CustomerChangesService } from './customer-changes.service.js';
import { OrderLifecycleService } from './order-lifecycle.service.js';
import { ListOrdersDto, ORDER_COLUMNS, OrderPageDto, SearchOrdersDto } from './order-lists.dto.js';
import {
  AmendOrderDto,
  CancelOrderDto,
  CompleteOrderDto,
  CreateOrderDto,
  SetRedemptionDto,
} from './order-requests.dto.js';
import { OrderDto } from './order.dto.js';
import { ORDERS } from './orders.list.js';
import { OrdersService } from './orders.service.js';
import { CreateQuoteDto, QuoteDto } from './quote.dto.js';
import { QuotesService } from './quotes.service.js';
import { TimelinePageDto } from './timeline.dto.js';
import { TIMELINE } from './timeline.list.js';

@MerchantController('orders', 'orders')
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly reads: Reads,
    private readonly lifecycle: OrderLifecycleService,
    private readonly customerChanges: CustomerChangesService,
  ) {}

  /**
   * Create an order
   *
   * @remarks Creates a `pending` order and returns how much cashback the customer can redeem on it and will receive for
   * it. `external_id` is the idempotency key: if you send the same content again, you get 201 with the current order
   * and `Idempotency-Replayed: true`. Different content returns 409. With `complete`, the order is created and
   * completed at once, or nothing happens.
   */
  @Post()
  @Requires('sell')
  @LocksRows('complete')
  @ApiCreated(OrderDto, 'The order in its current state')
  @ApiProblems.create(
    'sold_too_long_ago',
    'validation_failed',
    'invalid_transition',
    'payments_exceed_total',
    'earn_amount_exceeds_maximum',
    'redemption_lapsed',
    'redemption_no_longer_available',
    'redemption_below_minimum',
    'redemption_exceeds_maximum',
  )
  async createOrder(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateOrderDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDto> {
    const { dto, replayed } = await this.orders.create(caller, body);
    markCreated(response, `/orders/${dto.id}`, replayed);
    return dto;
  }

  /**
   * Amend an order
   *
   * @remarks Replaces the content of a `pending` order and quotes it again under the order's policy. A hold stays if it
   * is not above the new maximum; otherwise the response is 422, unless `redeem` is `maximum`. The same content again
   * changes nothing.
   */
  @Put(':id')
  @Requires('sell')
  @LocksRows()
  @ApiReplays()
  @ApiProblems.write(
    'precondition_failed',
    'payments_exceed_total',
    'earn_amount_exceeds_maximum',
    'redemption_exceeds_maximum',
  )
  async amendOrder(
    @CurrentCaller() caller: Caller,
    @IdParam('The order') id: string,
    @Body() body: AmendOrderDto,
    @IfMatch() versions: string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDto> {
    return answer(response, await this.lifecycle.amend(caller, id, body, versions));
  }

  /**
   * Hold cashback for an order, or renew an expired order
   *
   * @remarks Holds an amount of the customer's cashback until the order expires. It replaces an earlier hold of the
   * order. On an expired order this is the operation `renew`: the order is pending again until the new `expires_at`.
   * Send the amount "0.00" to renew it without a hold.
   */
  @Put(':id/redemption')
  @Requires('sell')
  @LocksRows()
  @ApiReplays()
  @ApiProblems.write('precondition_failed', 'redemption_below_minimum', 'redemption_exceeds_maximum')
  async holdRedemption(
    @CurrentCaller() caller: Caller,
    @IdParam('The order') id: string,
    @Body() body: SetRedemptionDto,
    @IfMatch() versions: string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDto> {
    return answer(response, await this.lifecycle.hold(caller, id, body, versions));
  }

  /**
   * Complete an order
   *
   * @remarks Redeems the held cashback (or the amount in `redeem`), and grants the customer the cashback that the order
   * earns. It also works after `expires_at`: then `redeem` is required if the order held cashback, and "0.00" is always
   * possible. Completing again with the same values returns the order.
   */
  @Post(':id/complete')
  @Requires('sell')
  @LocksRows()
  @ApiReplays()
  @HttpCode(200)
  @ApiBody({ type: CompleteOrderDto, required: false })
  @ApiProblems.write(
    'precondition_failed',
    'redemption_lapsed',
    'redemption_no_longer_available',
    'payments_exceed_total',
    'redemption_below_minimum',
    'redemption_exceeds_maximum',
  )
  async completeOrder(
    @CurrentCaller() caller: Caller,
    @IdParam('The order') id: string,
    @Body() body: CompleteOrderDto,
    @IfMatch() versions: string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDto> {
    return answer(response, await this.lifecycle.complete(caller, id, body, versions));
  }

  /**
   * Cancel an order
   *
   * @remarks Cancels a `pending` or `expired` order and releases its hold. Cancelling again returns the order
   * with its first reason.
   */
  @Post(':id/cancel')
  @Requires('sell')
  @LocksRows()
  @ApiReplays()
  @HttpCode(200)
  @ApiBody({ type: CancelOrderDto, required: false })
  @ApiProblems.write('precondition_failed')
  async cancelOrder(
    @CurrentCaller() caller: Caller,
    @IdParam('The order') id: string,
    @Body() body: CancelOrderDto,
    @IfMatch() versions: string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDto> {
    return answer(response, await this.lifecycle.cancel(caller, id, body, versions));
  }

  /**
   * Correct the customer of a completed order
   *
   * @remarks For a document that was wrong, once per order, if the order redeemed nothing and no other order holds what
   * it earned. What is left of that moves to the other customer, with the same dates. The response says what did not
   * move, because the first customer had spent it: grant it to compensate. The same request again returns the same.
   */
  @Put(':id/customer')
  @Requires('customers')
  @LocksRows()
  @ApiReplays()
  @ApiProblems.write('validation_failed', 'precondition_failed', 'cashback_held', 'wallet_frozen')
  async changeCustomer(
    @CurrentCaller() caller: Caller,
    @IdParam('The order') id: string,
    @Body() body: ChangeCustomerDto,
    @IfMatch() versions: string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CustomerChangeDto> {
    return answer(response, await this.customerChanges.change(caller, id, body, versions));
  }

  /**
   * Read an order
   *
   * @remarks Returns the order in its current state. An order of another merchant returns 404.
   */
  @Get(':id')
  @Requires()
  @ApiProblems.read()
  getOrder(@MerchantId() merchantId: string, @IdParam('The order') id: string): Promise<OrderDto> {
    return this.orders.get(merchantId, id);
  }

  /**
   * Read an order by its external ID
   *
   * @remarks Returns the order with your ID. Percent-encode it in the path. An order of another merchant returns 404.
   */
  @Get('by-external-id/:external_id')
  @Requires()
  @ApiParam({
    name: 'external_id',
    description: 'Your ID of the order.',
    schema: { type: 'string', minLength: 1, maxLength: 100, pattern: textPattern('id'), example: 'PED-1001' },
  })
  @ApiProblems.read()
  getOrderByExternalId(@MerchantId() merchantId: string, @Param('external_id') externalId: string): Promise<OrderDto> {
    return this.orders.getByExternalId(merchantId, externalId);
  }

  /**
   * Read what happened to an order
   *
   * @remarks Returns the order's timeline, oldest first, one page at a time: what happened to it, and the cashback that
   * it moved. Holds, amendments and renewals are only in the events. Continue with `next_cursor` until it is null.
   */
  @Get(':id/timeline')
  @Requires()
  @Heavy()
  @ApiProblems.query('not_found')
  getOrderTimeline(
    @MerchantId() merchantId: string,
    @IdParam('The order') id: string,
    @Query() query: PageQueryDto,
  ): Promise<TimelinePageDto> {
    return this.reads.read(merchantId, { ...query, id }, TIMELINE);
  }

  /**
   * List orders
   *
   * @remarks Returns the merchant's orders, newest first, one page at a time. A page has at most `limit` orders
   * and 1 MiB, but at least one order if any is left. Continue with `next_cursor` until it is null.
   */
  @Get()
  @Requires('sell', 'reports')
  @Heavy()
  @ListFile('orders', OrderPageDto, ORDER_COLUMNS)
  listOrders(@MerchantId() merchantId: string, @Query() query: ListOrdersDto): Promise<OrderPageDto> {
    return this.reads.page(merchantId, query, ORDERS);
  }

  /**
   * List a customer's orders
   *
   * @remarks Returns the customer's orders with this merchant, newest first, in pages like those of `GET /orders`. For
   * an unknown customer, the page is empty.
   */
  @Post('search')
  @Requires('sell', 'reports')
  @Heavy()
  @HttpCode(200)
  @ApiProblems.query()
  searchOrders(@MerchantId() merchantId: string, @Body() body: SearchOrdersDto): Promise<OrderPageDto> {
    return this.reads.page(merchantId, body, ORDERS);
  }
}

@MerchantController('quotes', 'quotes')
export class QuotesController {
  constructor(private readonly quotes: QuotesService) {}

  /**
   * Quote an order
   *
   * @remarks Returns the cashback that an order would redeem and earn, and creates nothing. Without `document`, for
   * example on a product page, `to_redeem` is null. A quote is not binding: an order has its own.
   */
  @Post()
  @Requires('sell')
  @HttpCode(200)
  @ApiProblems.query(
    'payments_exceed_total',
    'earn_amount_exceeds_maximum',
    'redemption_below_minimum',
    'redemption_exceeds_maximum',
    'sold_too_long_ago',
  )
  createQuote(@CurrentCaller() caller: Caller, @Body() body: CreateQuoteDto): Promise<QuoteDto> {
    return this.quotes.quote(caller, body);
  }
}
