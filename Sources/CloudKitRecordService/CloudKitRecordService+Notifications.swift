public import BackstitchCore
import CloudKitWire

extension CloudKitRecordService {
    /// How long to wait after a failure, doubled with each that follows, in milliseconds.
    private static let pauseMilliseconds: Int64 = 500
    private static let pauseMillisecondsMax: Int64 = 60_000
    /// A poll that ends with nothing in less than this is no long poll: something on the way answers for
    /// the service. The next one then waits as after a failure.
    private static let pollMillisecondsMin: Int64 = 5_000

    /// Calls a closure a moment after each change that another device made. It uses long polls, not
    /// repeated queries.
    ///
    /// Calls are hints, which may be lost, repeated or needless: synchronise at each. The first
    /// call comes when listening begins, because earlier changes are not announced. Changes of this
    /// client are left out if the service can tell them. Continues after failures, and ends when
    /// its task is cancelled.
    ///
    /// - Parameters:
    ///   - sleep: Waits for milliseconds after a failure.
    ///   - change: Called with the zone that changed; nil if it is not known.
    /// - Throws: `notAuthenticated` or `permissionDenied` if the credentials open no courier.
    public func followChanges(
        sleep: @Sendable (Int64) async throws -> Void,
        _ change: @Sendable (ZoneID?) async -> Void
    ) async throws(ServiceError) {
        var pause = Self.pauseMilliseconds
        while !Task.isCancelled {
            var asked: Int64 = 0
            do throws(ServiceError) {
                let url = try await openCourier()
                await change(nil)
                while !Task.isCancelled {
                    let reply = try await connection.poll(url)
                    if !reply.body.isEmpty {
                        await change(zone(of: reply.body))
                    } else if let elapsed = reply.elapsedMilliseconds,
                        elapsed < Self.pollMillisecondsMin
                    {
                        do { try await sleep(pause) } catch { return }
                        pause = min(pause * 2, Self.pauseMillisecondsMax)
                        continue
                    }
                    pause = Self.pauseMilliseconds
                }
            } catch {
                guard error.code != .notAuthenticated, error.code != .permissionDenied else {
                    throw error
                }
                // The token is gone, or its session has ended.
                if error.code == .unknownItem || error.code == .invalidRequest {
                    connection.courier = nil
                }
                asked = error.retryAfterSeconds.map { Int64(min($0, 86_400) * 1_000) } ?? 0
            }
            guard !Task.isCancelled else { return }
            do { try await sleep(max(pause, asked)) } catch { return }
            pause = min(pause * 2, Self.pauseMillisecondsMax)
        }
    }

    /// Has this client's subscriptions told to its token, which is made if there is none, and gives
    /// the address to ask.
    private func openCourier() async throws(ServiceError) -> String {
        let environment = connection.configuration.environment
        let courier: PushTokenResponse
        if let known = connection.courier {
            courier = known
        } else {
            courier = try await connection.call(
                .createToken, nil, PushTokenRequest(apnsEnvironment: environment))
            // Kept at once: a failure from here on must not lead to another token.
            connection.courier = courier
        }
        try await connection.tell(
            .registerToken, nil,
            PushTokenRequest(apnsEnvironment: environment, apnsToken: courier.apnsToken))
        return courier.webcourierURL
    }

    private func zone(of body: [UInt8]) -> ZoneID? {
        guard let notification = try? JSONObject(body: body).object("ck"),
            let subject = try? notification.object("fet") ?? notification.object("qry")
                ?? notification.object("met"),
            let name = try? subject.text("zid")
        else { return nil }
        let owner = try? subject.text("zoid")
        return zoneID(WireZoneID(name, ownerRecordName: owner ?? nil))
    }
}
