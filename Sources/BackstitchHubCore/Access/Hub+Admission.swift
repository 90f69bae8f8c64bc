import BackstitchCore
import CloudKitWire
import WireCrypto

extension Hub {
    /// A body up to this many bytes is taken whoever sends it, because it has come with the head: its
    /// sender then gets an answer on a connection that stays.
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
        case take(HubRequest, BodyPlace)
        /// It is answered at once, and its body is not read.
        case refuse(HubResponse)
    }

    /// Decides by its head what becomes of a request: whoever has no right to send a body is refused
    /// before it is read.
    ///
    /// - Parameters:
    ///   - request: The request without its body.
    ///   - length: The length of the body, or nil if the head does not say.
    package func admission(of request: HubRequest, length: Int?) -> Admission {
        var request = request
        request.readAddress()
        guard let address = request.address else { return free(request, length, nil) }
        let target = address.target
        if target.path.first == "upload" { return uploadAdmission(of: request, target, length) }
        guard let path = address.path, let endpoint = address.endpoint, length != 0 else {
            return free(request, length, nil)
        }
        do {
            let limit: Int
            if request.header(WireHeader.keyID) != nil {
                // The signature is over the body: the key has to be known, and the rest comes then.
                try checkSigner(of: request, path)
                limit = bodyBytes(of: endpoint, isAnonymous: false)
            } else {
                let authentication = try authenticate(request, target, path)
                if let database = path.database { _ = try scope(authentication, database) }
                request.authentication = authentication
                limit = bodyBytes(
                    of: endpoint, isAnonymous: authentication.principal == .anonymous)
            }
            return .take(request, .memory(bytesMax: limit))
        } catch {
            return free(request, length, refusal(to: error, of: path.endpoint.rawValue, request))
        }
    }

    /// Takes a small body in any case; a larger one only if nothing is known against it.
    private func free(
        _ request: HubRequest, _ length: Int?, _ refusal: HubResponse?
    ) -> Admission {
        let isSmall = length.map { $0 <= Self.freeBodyBytes } ?? false
        if let refusal, !isSmall { return .refuse(refusal) }
        var request = request
        request.refusal = refusal
        return .take(request, .memory(bytesMax: Self.freeBodyBytes))
    }

    private func bodyBytes(of endpoint: HubEndpoint, isAnonymous: Bool) -> Int {
        let limits = configuration.limits
        let most = isAnonymous ? limits.anonymousBodyBytes : limits[keyPath: endpoint.bodyBytes]
        return min(most, limits.bodyBytes)
    }

    private func checkSigner(of request: HubRequest, _ path: WirePath) throws {
        let key = RealmRow.key(container: path.container, environment: path.environment)
        let id = request.header(WireHeader.keyID) ?? ""
        let isKnown =
            try ServiceNames.isRecordName(path.container) && (1...128).contains(id.utf8.count)
            && storage.read { transaction in
                let realm: RealmRow? = try transaction.row(key)
                let signer: ServerKeyRow? = try transaction.row(ServerKeyRow.key(id: id))
                return realm != nil && signer?.realm == realm?.number
            }
        guard isKnown else {
            signIns.noteFailure(of: request.remoteAddress, now: steadyNow)
            throw WireError(.authenticationFailed, "Authentication failed")
        }
    }

    private func uploadAdmission(
        of request: HubRequest, _ target: RequestTarget, _ length: Int?
    ) -> Admission {
        guard request.method == "POST" || request.method == "PUT" else {
            return free(request, length, nil)
        }
        do {
            var request = request
            let bytesMax = try beginUpload(&request, target, length: length)
            let path = assets.incomingPath(configuration.clock.secret(16))
            return .take(request, .file(path: path, bytesMax: bytesMax))
        } catch {
            return .refuse(refusal(to: error, of: "upload", request))
        }
    }

    /// Ends what the head of a request began whose body does not come to its end, or is not kept.
    package func abandon(_ request: HubRequest) {
        if case .file(let path, _, _) = request.body { assets.discard(path) }
        if let upload = request.upload { uploads.release(upload) }
    }
}
