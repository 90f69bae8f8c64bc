import BackstitchCore

/// Which requests of a connection go wrong, and how: by script, by chance, or both.
///
/// By chance, at most one fault is drawn for a request, with the probability given for its kind; of
/// probabilities that add up to more than 1, the last kinds in order are cut. The draws depend on
/// the seed and the requests only.
public struct FaultPlan: Sendable {
    /// The faults asked for, in order. All that match a request take effect at once, but for errors
    /// of whole requests: of these each request meets one, and the others wait.
    public var scripted: [ScriptedFault] = []
    /// How many requests a drawn `accountSwitch` lasts for.
    public var accountSwitchRequests = 3
    private var generator: SeededGenerator
    /// For each kind of request, the kinds that can be drawn with their running sums.
    private var table: [RequestKind: [(kind: FaultKind, sum: Double)]] = [:]

    /// A plan without faults drawn by chance.
    public init() {
        generator = SeededGenerator(seed: 0)
    }

    /// A plan that draws faults by chance.
    ///
    /// - Parameters:
    ///   - seed: The same seed gives the same faults for the same requests.
    ///   - probabilities: From 0 to 1, of a kind to hit a request that it applies to.
    public init(seed: UInt64, probabilities: [FaultKind: Double]) {
        generator = SeededGenerator(seed: seed)
        for request in RequestKind.allCases {
            var sum = 0.0
            for kind in FaultKind.allCases where kind.applies(to: request) {
                guard let probability = probabilities[kind], probability > 0 else { continue }
                sum += probability
                table[request, default: []].append((kind, sum))
            }
        }
    }

    /// Decides on a request.
    mutating func draw(_ request: ServiceRequest) -> RequestFaults {
        if scripted.isEmpty && table.isEmpty { return RequestFaults() }
        var faults = RequestFaults()
        var index = 0
        while index < scripted.count {
            // Of two errors for whole requests the second one waits for the next request.
            let isError = scripted[index].kind.requestCode != nil
            guard scripted[index].matches(request), !(isError && faults.hasRequestError) else {
                index += 1
                continue
            }
            if scripted[index].skip > 0 {
                scripted[index].skip -= 1
                index += 1
                continue
            }
            faults.active.append(scripted[index])
            if case .requests(let count) = scripted[index].duration {
                scripted[index].duration = .requests(count - 1)
                if count <= 1 {
                    scripted.remove(at: index)
                    continue
                }
            }
            index += 1
        }
        if let row = table[request.kind] {
            let number = generator.fraction()
            if let hit = row.first(where: { number < $0.sum }) {
                var fault = ScriptedFault(hit.kind)
                fault.lateBy = Int(generator.next() % 4)
                if hit.kind.requestCode != nil, !hit.kind.rawValue.hasPrefix("error.") {
                    fault.retryAfterSeconds = Double(1 + generator.next() % 30)
                }
                faults.active.append(fault)
            }
        }
        if !faults.active.isEmpty { faults.generator = generator.split() }
        return faults
    }
}

extension ScriptedFault {
    func matches(_ other: ServiceRequest) -> Bool {
        guard request == nil || request == other.kind, kind.applies(to: other.kind) else {
            return false
        }
        guard let recordName else { return true }
        switch other {
        case .modify(let operations, _, _, _):
            return operations.contains { $0.recordName == recordName }
        case .lookup(let names, _): return names.contains(recordName)
        // Which records a page has is not known before.
        case .zoneChanges: return kind == .recordError
        default: return false
        }
    }
}
