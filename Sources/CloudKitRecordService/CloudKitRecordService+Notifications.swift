public import BackstitchCore
import CloudKitWire

extension CloudKitRecordService {
    /// How long to wait after a failure, doubled with each that follows, in milliseconds.
    private static let pauseMilliseconds: Int64 = 500
    private static let pauseMillisecondsMax: Int64 = 60_000

    /// Tells of changes that other devices made, as the service tells them: by long polls, a moment
    /// after each change, without asking again and again.
    ///
    /// Calls are hints, which may be lost, repeated or about nothing: synchronise at each. The first
    /// comes when the service began to listen, because changes before that are not told. Changes of
    /// this client are left out where the service can tell them. Goes on after failures, and ends
    /// when its task is cancelled.
    ///
    /// - Parameters:
    ///   - sleep: Waits for milliseconds after a failure.
    ///   - change: Called with the zone that changed; nil where it is not known.
    /// - Throws: `notAuthenticated` or `permissionDenied` where the credentials open no courier.
    public func followChanges(
        sleep: @Sendable (Int64) async throws -> Void,
        _ change: @Sendable (ZoneID?) async -> Void
    ) async throws(ServiceError) {
        var pause = Self.pauseMilliseconds
        while !Task.isCancelled {
            do throws(ServiceError) {
                let url = try await openCourier()
                await change(nil)
                pause = Self.pauseMilliseconds
                while !Task.isCancelled {
                    guard let body = try await connection.poll(url) else { continue }
                    await change(zone(of: body))
                }
            } catch {
                guard error.code != .notAuthenticated, error.code != .permissionDenied else {
                    throw error
                }
                let asked = error.retryAfterSeconds.map { Int64($0 * 1_000) } ?? 0
                do { try await sleep(max(pause, asked)) } catch { return }
                pause = min(pause * 2, Self.pauseMillisecondsMax)
            }
        }
    }

    /// Makes a token, has this client's subscriptions told to it, and gives the address to ask.
    private func openCourier() async throws(ServiceError) -> String {
        let environment = connection.configuration.environment
        let token: PushTokenResponse = try await connection.call(
            .createToken, nil, PushTokenRequest(apnsEnvironment: environment))
        try await connection.tell(
            .registerToken, nil,
            PushTokenRequest(apnsEnvironment: environment, apnsToken: token.apnsToken))
        connection.pushToken = token.apnsToken
        return token.webcourierURL
    }

    private func zone(of body: [UInt8]) -> ZoneID? {
        guard let notification = try? JSONObject(body: body).object("ck"),
            let subject = try? notification.object("fet") ?? notification.object("qry"),
            let name = try? subject.text("zid")
        else { return nil }
        let owner = try? subject.text("zoid")
        return zoneID(WireZoneID(name, ownerRecordName: owner ?? nil))
    }
}
