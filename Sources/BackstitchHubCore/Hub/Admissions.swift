import BackstitchCore
import CloudKitWire
import Threading
import WireCrypto

/// Decides by the head of a request what becomes of it.
package struct Admissions: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let authenticator: Authenticator
    let authentications: AuthenticationCache
    let uploadedFiles: AssetCalls
    let replies: Replies
    private let addresses = RequestAddressBook()

    init(
        configuration: HubConfiguration, storage: any HubStorage, authenticator: Authenticator,
        authentications: AuthenticationCache, uploadedFiles: AssetCalls, replies: Replies
    ) {
        (self.configuration, self.storage) = (configuration, storage)
        (self.authenticator, self.authentications) = (authenticator, authentications)
        (self.uploadedFiles, self.replies) = (uploadedFiles, replies)
    }

    /// Parses the target of a request and keeps the result in the request, so that it is parsed once.
    package func readAddress(of request: inout HubRequest) {
        if request.knownAddress == nil { request.knownAddress = addresses.address(request.target) }
    }

    /// A body of up to this many bytes is taken from any sender, because it came with the head. So the sender
    /// gets an answer, and the connection stays open.
    private static let freeBodyBytes = 16 << 10

    /// Where the body of a request goes.
    package enum BodyPlace: Sendable {
        /// Into memory, up to a number of bytes.
        case memory(bytesMax: Int)
        /// Into a new file, up to a number of bytes.
        case file(path: String, bytesMax: Int)
    }

    /// What becomes of a request whose head has come.
    package enum Admission {
        /// Its body is taken.
        case take(BodyPlace)
        /// It is answered at once, and its body is not read.
        case refuse(HubResponse)
    }

    /// What was stored about a head at a moment of the storage.
    final class KnownFacts: Sendable {
        fileprivate let facts: HeadFacts
        fileprivate let moment: UInt64
        /// Until when they count, in milliseconds of the steady clock: sessions get old.
        fileprivate let end: Int64

        fileprivate init(facts: HeadFacts, moment: UInt64, end: Int64) {
            (self.facts, self.moment, self.end) = (facts, moment, end)
        }
    }

    /// What is stored about a head.
    fileprivate struct HeadFacts: Sendable {
        /// Who sends it, if its head proves that, and the database that it is about.
        var authentication: Authentication?
        var access: DatabaseAccess?
        /// Whether the key of a signed request is known. The signature is over the body, and is
        /// checked when that has come.
        var isSignerKnown = false
        /// What is known of the address of an upload.
        var upload: AssetCalls.UploadPlace?
    }

    /// Decides by its head whether a request is answered: a client without the right to send a body is
    /// refused before the hub reads it.
    ///
    /// - Parameters:
    ///   - request: The request without its body. What is found out about it is noted there.
    ///   - length: The length of the body, or nil if the head does not say.
    /// - Returns: nil if that takes a while; then ``admission(of:length:)`` has to be awaited.
    package func admissionAtOnce(of request: inout HubRequest, length: Int?) -> Admission? {
        readAddress(of: &request)
        guard asksStorage(request, length) else { return free(&request, length, nil) }
        do {
            let facts =
                try storage.readAtHand(RequestWork()) { try self.factsAtHand(of: request, $0) }
                ?? rememberedFacts(of: request)
            guard let facts else { return nil }
            return admission(of: &request, length, .success(facts))
        } catch {
            return admission(of: &request, length, .failure(error))
        }
    }

    /// As ``admissionAtOnce(of:length:)``, however long it takes.
    package func admission(of request: inout HubRequest, length: Int?) async -> Admission {
        readAddress(of: &request)
        guard asksStorage(request, length) else { return free(&request, length, nil) }
        do {
            let generation = authentications.generation
            let work = RequestWork(for: request, authentications, configuration.clock)
            let facts = try await storage.read(.page, work) { [request] in
                try self.facts(of: request, $0)
            }
            remember(facts, of: request, readAt: generation)
            return admission(of: &request, length, .success(facts))
        } catch {
            return admission(of: &request, length, .failure(error))
        }
    }

    /// What is stored about a head; what was read before counts if nothing was written since.
    private func factsAtHand(
        of request: HubRequest, _ transaction: any HubReading
    ) throws -> HeadFacts {
        guard let route = request.address?.hubRoute, route.endpoint != nil,
            let moment = transaction.moment, request.header(WireHeader.keyID) == nil
        else { return try facts(of: request, transaction) }
        let now = configuration.steadyNow
        if let known = route.facts.withLock({ $0 }), known.moment == moment, known.end > now,
            known.facts.authentication.map({ $0.end > configuration.now }) == true
        {
            return known.facts
        }
        let facts = try facts(of: request, transaction)
        let isLasting = facts.lasts(in: request.address?.path?.database)
        route.facts.withLock { known in
            let end = now + AuthenticationCache.lifetimeMilliseconds
            known = isLasting ? KnownFacts(facts: facts, moment: moment, end: end) : nil
        }
        return facts
    }

    /// What was read a moment ago about a head with the same credentials; nothing where the hub would not
    /// hear that they were taken back.
    private func rememberedFacts(of request: HubRequest) -> HeadFacts? {
        guard storage.tellsOfOthers, let address = request.address,
            let key = authenticator.cacheKey(of: request, address),
            let entry = authentications.entry(key, now: configuration.steadyNow),
            entry.authentication.end > configuration.now
        else { return nil }
        return HeadFacts(authentication: entry.authentication, access: entry.access)
    }

    private func remember(_ facts: HeadFacts, of request: HubRequest, readAt generation: Int) {
        guard let address = request.address, let key = authenticator.cacheKey(of: request, address),
            let authentication = facts.authentication,
            facts.lasts(in: address.path?.database)
        else { return }
        authentications.add(
            AuthenticationCache.Entry(authentication: authentication, access: facts.access),
            for: key, readAt: generation, now: configuration.steadyNow)
    }

    /// Whether it matters what is stored about a head.
    private func asksStorage(_ request: HubRequest, _ length: Int?) -> Bool {
        guard let address = request.address else { return false }
        if Self.isUpload(address.target) {
            return ["POST", "PUT", "PATCH"].contains(request.method)
        }
        guard let endpoint = address.endpoint else { return false }
        // Without a body it only matters whose turn the call is, which a signature does not prove yet.
        return length != 0
            || endpoint.methods.contains(request.method)
                && request.header(WireHeader.keyID) == nil
    }

    private static func isUpload(_ target: RequestTarget) -> Bool { target.path.first == "upload" }

    private func facts(
        of request: HubRequest, _ transaction: any HubReading
    ) throws -> HeadFacts {
        var facts = HeadFacts()
        guard let address = request.address else { return facts }
        let target = address.target
        if Self.isUpload(target) {
            facts.upload = try uploadedFiles.uploadPlace(target, transaction)
        } else if let path = address.path {
            if request.header(WireHeader.keyID) != nil {
                facts.isSignerKnown = try authenticator.isSignerKnown(
                    of: request, path, transaction)
            } else {
                let key = authenticator.cacheKey(of: request, address)
                let name = transaction.isFar ? key.flatMap(authentications.databaseName(of:)) : nil
                guard
                    let authentication = try authenticator.authentication(
                        request, address, transaction, alsoReads: name.map { [$0] } ?? [])
                else { return facts }
                facts.authentication = authentication
                if transaction.isFar, let session = address.credentials?.webTokenKey,
                    let name = authentication.clientName
                {
                    authentications.note(clientName: name, of: session)
                }
                guard let database = path.database else { return facts }
                let scope = try authentication.scope(of: database)
                facts.access = try authenticator.access(of: authentication, to: scope, transaction)
                if transaction.isFar, let key, facts.access != nil {
                    authentications.note(
                        databaseName: scope.name(in: authentication.realm).key, of: key)
                }
            }
        }
        return facts
    }

    private func admission(
        of request: inout HubRequest, _ length: Int?, _ facts: Result<HeadFacts, any Error>
    ) -> Admission {
        guard let address = request.address else { return free(&request, length, nil) }
        if Self.isUpload(address.target) { return uploadAdmission(of: &request, length, facts) }
        guard let path = address.path, let endpoint = address.endpoint else {
            return free(&request, length, nil)
        }
        do {
            let facts = try facts.get()
            if request.header(WireHeader.keyID) != nil {
                if !facts.isSignerKnown {
                    throw authenticator.refused(request)
                }
                return .take(.memory(bytesMax: bodyBytes(of: endpoint, isAnonymous: false)))
            }
            let authentication = try authenticator.admitted(facts.authentication, request)
            request.authentication = authentication
            request.access = facts.access
            let limit = bodyBytes(
                of: endpoint, isAnonymous: authentication.principal == .anonymous)
            return .take(.memory(bytesMax: limit))
        } catch {
            let refusal = replies.refusal(to: error, of: path.endpoint.rawValue, request)
            return free(&request, length, refusal)
        }
    }

    /// Takes a small body in any case; a larger one only if nothing is known against it.
    private func free(
        _ request: inout HubRequest, _ length: Int?, _ refusal: HubResponse?
    ) -> Admission {
        let isSmall = length.map { $0 <= Self.freeBodyBytes } ?? false
        if let refusal, !isSmall { return .refuse(refusal) }
        request.refusal = refusal
        return .take(.memory(bytesMax: Self.freeBodyBytes))
    }

    private func bodyBytes(of endpoint: HubEndpoint, isAnonymous: Bool) -> Int {
        let limits = configuration.limits
        let most = isAnonymous ? limits.anonymousBodyBytes : limits[keyPath: endpoint.bodyBytes]
        return min(most, limits.bodyBytes)
    }

    private func uploadAdmission(
        of request: inout HubRequest, _ length: Int?, _ facts: Result<HeadFacts, any Error>
    ) -> Admission {
        do {
            if request.method == "PATCH" {
                try uploadedFiles.checkPart(to: facts.get().upload, length: length)
                return .take(.memory(bytesMax: AssetCalls.partBytesMax))
            }
            let bytesMax = try uploadedFiles.begin(&request, to: facts.get().upload, length: length)
            let path = uploadedFiles.assets.incomingPath(configuration.clock.secret(16))
            return .take(.file(path: path, bytesMax: bytesMax))
        } catch {
            return .refuse(replies.refusal(to: error, of: "upload", request))
        }
    }

    /// Ends what the head of a request began whose body does not come to its end, or is not kept.
    package func abandon(_ request: HubRequest) {
        if case .file(let path, _, _) = request.body { uploadedFiles.assets.discard(path) }
        if let upload = request.upload { uploadedFiles.uploads.release(upload) }
    }
}

extension Admissions.HeadFacts {
    /// Whether they are worth to be remembered, in a call about a database.
    fileprivate func lasts(in database: WireDatabase?) -> Bool {
        guard let authentication, access != nil || database == nil else { return false }
        // What is due is told, and noted, when it is looked at.
        return authentication.renewedToken == nil && !authentication.isUseNews
    }
}
