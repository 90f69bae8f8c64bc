import CloudKitWire

/// Answers small requests on the thread that brings them, because handing a request to another thread takes
/// longer than reading a few keys.
package struct InlineReads: Sendable {
    private let hub: Hub

    package init(_ hub: Hub) { self.hub = hub }

    /// Bodies up to this many bytes are worth a try.
    private static let bodyBytesMax = 1 << 10
    /// The most that an answer costs, in the unit of ``RequestWork/Meter/cost``: the connections of
    /// the same thread wait for it.
    private static let costMax = 32

    /// Answers a request on the calling thread, if that takes only some microseconds and needs no queue.
    ///
    /// - Returns: nil if it would take longer, or has to wait: then it is to be submitted.
    package func answer(_ request: HubRequest) -> HubResponse? {
        if let refusal = request.refusal { return refusal }
        guard let address = request.address else { return nil }
        if let page = address.page {
            guard page.methods.contains(request.method), let answer = page.answerAtOnce else {
                return nil
            }
            return hub.replies.finished(answer(hub), of: page.name, request)
        }
        guard request.readingLane == .page, request.bytes.count <= Self.bodyBytesMax,
            hub.storage.isCalm
        else { return nil }
        let work = RequestWork(clock: hub.configuration.clock.steadyMilliseconds)
        work.limit(cost: Self.costMax)
        do {
            let response = try hub.storage.readAtHand(work) { try hub.read(request, work, $0) }
            guard let response = response ?? nil else { return nil }
            return try hub.finishedRead(response, request, work)
        } catch is WorkTooLarge {
            return nil
        } catch {
            return hub.replies.refusal(to: error, of: Hub.callName(of: request), request)
        }
    }
}
